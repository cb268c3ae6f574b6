package main

import (
	"hash/maphash"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

// What the rule of missing keys forgives.
var forgiven = []string{
	"nil pointer evaluating", "invalid value; expected string", "index of untyped nil", "expected string; got interface {}",
}

// Without a missing key, a template gives what it gives in Go without rewriting. PINTLE_SEED=N tries the same again.
func TestAsInGo(t *testing.T) {
	seed, rounds := new(maphash.Hash).Sum64()>>16, 20_000
	if given, err := strconv.ParseUint(os.Getenv("PINTLE_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("PINTLE_SEED=%d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	all := slices.DeleteFunc(cases(t), func(one oneCase) bool { return strings.Contains(one.Template, "seq") })
	batch, err := decode([]byte(`{"output":1048576,"values":` + string(all[0].Values) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	// Nothing ends a range over these here.
	delete(batch.values.(map[string]any), "huge")
	delete(batch.values.(map[string]any), "big")
	same, failed := 0, 0
	for range rounds {
		text := mutated(dice, all[dice.IntN(len(all))].Template, all[dice.IntN(len(all))].Template)
		want, err := stock(text, copied(batch.values))
		got, wrong := batch.rendered(text)
		switch {
		case err != nil && wrong != nil:
			failed++
		case err != nil:
			if !slices.ContainsFunc(forgiven, func(part string) bool { return strings.Contains(err.Error(), part) }) {
				t.Errorf("%q\ngave %q\nGo says %v", text, got, err)
			}
		case strings.Contains(want, "no value"), strings.Contains(want, "no+value"):
		case wrong != nil && strings.Contains(wrong.Message, "not UTF-8"):
		case wrong != nil || got != want:
			t.Errorf("%q\ngot  %q %+v\nwant %q", text, got, wrong, want)
		default:
			same++
		}
	}
	t.Logf("%d the same texts, %d errors", same, failed)
	if same < rounds/20 || failed < rounds/20 {
		t.Errorf("the changes are of one kind only")
	}
}

func stock(text string, values any) (string, error) {
	root := template.New(rootName).Option("missingkey=zero")
	root.Funcs(functions).Funcs(template.FuncMap{"include": including(root)})
	if _, err := root.Parse(text); err != nil {
		return "", err
	}
	var out strings.Builder
	err := root.Execute(&out, values)
	return out.String(), err
}

func mutated(dice *rand.Rand, text, other string) string {
	parts := []string{"{{", "}}", "(", ")", " | ", ".", "$", ".name", ".nested.a", "$x.a", ".count.x", "\"", "1", " upper ", " (index .map \"a\")"}
	for range 1 + dice.IntN(3) {
		at := dice.IntN(len(text) + 1)
		end := min(len(text), at+dice.IntN(6))
		switch dice.IntN(4) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:at] + text[at:end] + text[at:]
		case 2:
			from := dice.IntN(len(other))
			text = text[:at] + other[from:min(len(other), from+10)] + text[at:]
		default:
			text = text[:at] + parts[dice.IntN(len(parts))] + text[at:]
		}
	}
	return text
}
