package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"unicode/utf8"
)

// rootName stands in Go's messages, from which failures take the place.
const rootName = "pintle"

// maxIncludes bounds how deep include nests.
const maxIncludes = 100

var (
	errTrailing = errors.New("more than one JSON value")
	errTooLong  = errors.New("too long")
)

// checked reads a template.
func checked(text string) (failed *failure) {
	defer recovered(&failed)
	_, failed = parsed(text)
	return failed
}

// rendered renders one template of the batch.
func (b *batch) rendered(text string) (result string, failed *failure) {
	defer recovered(&failed)
	root, failed := parsed(text)
	if failed != nil {
		return "", failed
	}
	out := &bounded{left: b.Output}
	if err := root.Execute(out, copied(b.values)); err != nil {
		if errors.Is(err, errTooLong) {
			return "", &failure{Message: fmt.Sprintf("the result is longer than %d bytes", b.Output)}
		}
		return "", ofExecution(text, err)
	}
	result = out.text.String()
	if !utf8.ValidString(result) {
		return "", &failure{Message: "the result is not UTF-8"}
	}
	return result, nil
}

// parsed reads a template and gives it the rule of missing keys.
func parsed(text string) (*template.Template, *failure) {
	root := template.New(rootName)
	root.Funcs(functions).Funcs(template.FuncMap{"include": including(root)})
	if _, err := root.Parse(text); err != nil {
		return nil, ofParsing(err)
	}
	for _, one := range root.Templates() {
		if one.Tree == nil {
			continue
		}
		rewrite := rewriting{}
		rewrite.list(one.Root)
		if rewrite.refused != nil {
			return nil, rewrite.refused.in(text)
		}
	}
	return root, nil
}

// including renders a template by name into a string.
func including(root *template.Template) any {
	depth := 0
	return func(name string, data any) (string, error) {
		if root.Lookup(name) == nil {
			return "", fmt.Errorf("there is no template %q", name)
		}
		if depth == maxIncludes {
			return "", fmt.Errorf("include nests deeper than %d", maxIncludes)
		}
		depth++
		defer func() { depth-- }()
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
}

// bounded is a result of at most so many bytes.
type bounded struct {
	text strings.Builder
	left int
}

func (b *bounded) Write(bytes []byte) (int, error) {
	if len(bytes) > b.left {
		return 0, errTooLong
	}
	b.left -= len(bytes)
	return b.text.Write(bytes)
}

var _ io.Writer = (*bounded)(nil)

// recovered makes a failure of a panic.
func recovered(failed **failure) {
	if cause := recover(); cause != nil {
		*failed = &failure{Message: fmt.Sprintf("cannot be read: %v", cause)}
	}
}
