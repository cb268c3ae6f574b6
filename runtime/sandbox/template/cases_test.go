package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type oneCase struct {
	Name     string
	Template string
	Values   json.RawMessage
	Want     *string
	Error    bool
	ErrorAt  string `json:"error_at"`
}

func cases(t *testing.T) []oneCase {
	file, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []oneCase
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one oneCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func rendering(t *testing.T, text, values string) (string, *failure) {
	t.Helper()
	request, _ := json.Marshal(map[string]any{"values": json.RawMessage(values), "output": 1 << 20})
	batch, err := decode(request)
	if err != nil {
		t.Fatal(err)
	}
	return batch.rendered(text)
}

func TestCases(t *testing.T) {
	all := cases(t)
	if len(all) < 117 {
		t.Fatalf("only %d cases", len(all))
	}
	for _, one := range all {
		t.Run(one.Name, func(t *testing.T) {
			unread := checked(one.Template)
			if atParse := one.ErrorAt == "parse"; (unread != nil) != atParse {
				t.Fatalf("read: %+v", unread)
			}
			got, failed := rendering(t, one.Template, string(one.Values))
			switch {
			case one.Error && failed == nil:
				t.Fatalf("rendered %q", got)
			case one.Error && failed.Line == 0 || one.ErrorAt == "exec" && failed.Column == 0:
				t.Fatalf("without a place: %+v", failed)
			case !one.Error && failed != nil:
				t.Fatalf("failed: %+v", failed)
			case !one.Error && got != *one.Want:
				t.Fatalf("got  %q\nwant %q", got, *one.Want)
			}
		})
	}
}

func TestRendered(t *testing.T) {
	const data = `{"name":"web","nul":null,"count":3,"big":1000000,"huge":18446744073709551615,"deep":{"a":{"b":1}},"list":[{"x":1},null],"map":{"b":2,"a":1}}`
	for _, one := range []struct{ template, want string }{
		{`{{ .nul.x.y }}|{{ $.nul.x }}|{{ (dict "a" nil).a.b }}|{{ $v := .nope }}{{ $v.x.y }}`, `|||`},
		{`{{ range .list }}[{{ .x }}]{{ end }}`, `[1][]`},
		{`{{ index .deep "zz" "b" "c" }}|{{ index .nul 1 }}|{{ index (index .list 1) "x" }}`, `||`},
		{`{{ upper .nope }}|{{ .nope | upper }}|{{ .nope.x | replace "a" "b" }}|{{ trim .nope.x.y | quote }}`, `|||""`},
		{`{{ hasPrefix .nope .name }}|{{ .nope | trunc 3 }}|{{ b64enc .nul }}|{{ html .nope }}|{{ .nope | urlquery }}`, `true||||`},
		{`{{ printf "%s" .nope }}|{{ toYaml .nope }}|{{ print .nope }}`, `%!s(<nil>)|null|<nil>`},
		{`{{ if and .nope.x (fail "no") }}A{{ else }}B{{ end }}`, `B`},
		{`{{ .big }} {{ .huge }} {{ (fromJson "[1000000]") }} {{ (fromYaml "a: 1000000").a }} {{ (fromYaml "1") }}`,
			`1000000 18446744073709551615 [1000000] 1000000 1`},
		{`{{ keys .map }} {{ values .map }}`, `[a b] [1 2]`},
		{`{{ (semver "1.2.3").Major }} {{ (semver "1.2.3").Compare (semver "1.2.4") }}`, `1 -1`},
		{`{{ ("2026-01-02" | toDate "2006-01-02").Year }} {{ "2026-01-02" | toDate "2006-01-02" | unixEpoch }}`, `2026 1767312000`},
		{`{{ (urlParse "https://a/b").host }} {{ (split "." "a.b")._1 }}[{{ (split "." "a.b")._7 }}]`, `a b[]`},
		{`{{ printf "%d%%p" 3 }}`, `3%p`},
		{`{{ with .nope.x }}x{{ else with .name }}{{ . }}{{ end }}`, `web`},
		{`{{ template "t" .nope.x }}{{ define "t" }}[{{ . }}{{ .a.b }}]{{ end }}`, `[]`},
		{`{{ $x := 1 }}{{ $x = .nope.x }}[{{ $x }}]`, `[]`},
		{`{{ include "t" .nope | nindent 2 }}{{ define "t" }}a: {{ .x | default "d" }}{{ end }}`, "\n  a: d"},
		{`{{ len .name }}{{ .name | len }}{{ (len .name) }}`, `333`},
	} {
		got, failed := rendering(t, one.template, data)
		if failed != nil || got != one.want {
			t.Errorf("%s\ngot  %q %+v\nwant %q", one.template, got, failed, one.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, one := range []struct {
		template     string
		line, column int
		message      string
	}{
		{"a\nb {{ now }}", 2, 6, "the function now is not there: there is no clock"},
		{"{{ if true }}\n{{ .x | default (env \"HOME\") }}{{ end }}", 2, 18, "the function env is not there"},
		{"{{ (uuidv4).x }}", 1, 5, "the function uuidv4 is not there"},
		{"{{ genCA \"a\" 1 }}", 1, 4, "the function genCA is not there"},
		{"{{ date \"2006\" 1 }}", 1, 4, "the function date is not there"},
		{"{{ pintleField . \"a\" }}", 1, 4, `function "pintleField" not defined`},
		{"{{ nope }}", 1, 0, `function "nope" not defined`},
		{"é {{ .count.x }}", 1, 6, "at <.count.x>: can't evaluate field x in type int"},
		{"{{ .a.b }}\n{{ required \"need it\" .nope.x }}", 2, 4, "at <required \"need it\" .nope.x>: error calling required: need it"},
		{"{{ .count.x | upper }}", 1, 4, "at <.count.x>: can't"},
		{"{{ range .count.x }}{{ end }}", 1, 10, "at <.count.x>: can't"},
		{"{{ eq 1 .count.x.y.z }}", 1, 9, "at <.count.x.y.z>: can't"},
		{"{{ $v := . }}{{ eq 1 $v.count.x }}", 1, 22, "at <$v.count.x>: can't"},
		{"{{ upper .count }}", 1, 10, "wrong type for value; expected string; got int"},
		{"x\n{{ include \"t\" . }}{{ define \"t\" }}\n{{ fail \"boom\" }}{{ end }}", 3, 4, "at <fail \"boom\">: error calling fail: boom"},
		{"{{ include \"t\" . }}{{ define \"t\" }}{{ include \"t\" . }}{{ end }}", 1, 39, "include nests deeper than 100"},
		{"a\n{{ if", 2, 0, "unclosed action"},
		{"{{ b64dec \"/w==\" }}", 0, 0, "the result is not UTF-8"},
		{"{{ repeat 2000000 \"x\" }}", 0, 0, "the result is longer than 1048576 bytes"},
		{"{{ repeat -1 \"x\" }}", 1, 4, "negative"},
		{"{{ printf \"%-5p\" . }}", 1, 4, "prints an address"},
		{"{{ include \"zz\" . }}", 1, 4, `error calling include: there is no template "zz"`},
		{"{{ template \"zz\" .p.q }}", 1, 13, `at <{{template "zz" .p.q}}>: template "zz" not defined`},
		{"{{ template \"zz\" . }}", 1, 13, "not defined"},
	} {
		got, failed := rendering(t, one.template, `{"count":3}`)
		if failed == nil {
			t.Errorf("%s\nrendered %q", one.template, got)
		} else if failed.Line != one.line || failed.Column != one.column || !strings.Contains(failed.Message, one.message) {
			t.Errorf("%s\ngot  %+v\nwant %d:%d %s", one.template, *failed, one.line, one.column, one.message)
		} else if strings.Contains(failed.Message, rootName) && !strings.Contains(one.template, rootName) {
			t.Errorf("%s\nshows what the author did not write: %s", one.template, failed.Message)
		}
	}
}

func TestTemplatesDoNotSeeEachOther(t *testing.T) {
	batch, err := decode([]byte(`{"values":{"a":{"b":1}},"output":100}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, failed := batch.rendered(`{{ $_ := set .a "b" (add1 .a.b) }}{{ .a.b }}`)
		if failed != nil || got != "2" {
			t.Fatal(got, failed)
		}
	}
}

func TestEveryFunctionThatIsAbsentIsSprigs(t *testing.T) {
	for name := range absent {
		if _, failed := rendering(t, "{{ "+name+" }}", "{}"); failed == nil || !strings.Contains(failed.Message, name) {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}
