package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// contextBytes is how much of an expression a message shows.
const contextBytes = 100

// failure is why a template gives no text. Lines and columns count from 1, columns in characters; 0 is unknown.
type failure struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// refusal is a function that may not be called, at an offset of the text.
type refusal struct {
	at      parse.Pos
	message string
}

func (r *refusal) in(text string) *failure {
	before := text[:r.at]
	start := strings.LastIndexByte(before, '\n') + 1
	return &failure{
		Line:    1 + strings.Count(before, "\n"),
		Column:  1 + utf8.RuneCountInString(before[start:]),
		Message: r.message,
	}
}

var (
	ofParse    = regexp.MustCompile(`(?s)^template: ` + rootName + `:(\d+): (.*)$`)
	ofExec     = regexp.MustCompile(`(?s)^template: ` + rootName + `:(\d+):(\d+): executing "(?:[^"\\]|\\.)*" at <(.*?)>: (.*)$`)
	placeNamed = regexp.MustCompile(`\b` + rootName + `:(\d+)`)
)

func ofParsing(err error) *failure {
	parts := ofParse.FindStringSubmatch(err.Error())
	if parts == nil {
		return &failure{Message: strings.TrimPrefix(err.Error(), "template: ")}
	}
	line, _ := strconv.Atoi(parts[1])
	message := strings.TrimPrefix(parts[2], "template: ")
	return &failure{Line: line, Message: placeNamed.ReplaceAllString(message, "line $1")}
}

// ofExecution is the innermost error: the one in a template that was included.
func ofExecution(text string, err error) *failure {
	message := err.Error()
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if inner, is := cause.(template.ExecError); is {
			message = inner.Error()
		}
	}
	parts := ofExec.FindStringSubmatch(message)
	if parts == nil {
		return &failure{Message: placeNamed.ReplaceAllString(strings.TrimPrefix(message, "template: "), "line $1")}
	}
	line, _ := strconv.Atoi(parts[1])
	byteColumn, _ := strconv.Atoi(parts[2])
	at := offset(text, line, byteColumn)
	failed := (&refusal{at: parse.Pos(at)}).in(text)
	reason := strings.TrimPrefix(parts[4], "error calling "+fieldFunction+": ")
	failed.Message = reason
	if shown := written(text, at, parts[3]); shown != "" {
		failed.Message = fmt.Sprintf("at <%s>: %s", shortened(shown), reason)
	}
	return failed
}

// offset of a place that Go counts in lines from 1 and bytes from 0.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return min(at+column, len(text))
}

func shortened(text string) string {
	if len(text) <= contextBytes {
		return text
	}
	end := contextBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// written is what the author wrote where Go shows a rewritten expression; empty if that is not found.
func written(text string, at int, shown string) string {
	shown = strings.TrimSuffix(shown, " | "+printFunction)
	if !strings.Contains(shown, hiddenPrefix) {
		return shown
	}
	root := template.New(rootName).Funcs(functions).Funcs(template.FuncMap{"include": including(nil)})
	if _, err := root.Parse(text); err != nil {
		return ""
	}
	found := ""
	for _, one := range root.Templates() {
		if one.Tree == nil {
			continue
		}
		walk(one.Root, func(node parse.Node) {
			if int(place(node)) == at && rewritten(node.Copy()) == shown {
				found = node.String()
			}
		})
	}
	return found
}
