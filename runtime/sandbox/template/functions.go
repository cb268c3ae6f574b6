package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Why functions of Sprig are not there.
const (
	needsMachine = "a template sees nothing of the machine"
	needsClock   = "there is no clock, so that a plan renders the same whenever it is made"
	needsChance  = "there is no randomness, so that a plan renders the same whenever it is made"
)

// absent functions are known by name, so that whoever calls one is told why.
var absent = map[string]string{
	"env": needsMachine, "expandenv": needsMachine, "getHostByName": needsMachine,

	"now": needsClock, "ago": needsClock, "durationRound": needsClock,
	"date": needsClock, "dateInZone": needsClock, "date_in_zone": needsClock, "htmlDate": needsClock, "htmlDateInZone": needsClock,

	"randAlpha": needsChance, "randAlphaNum": needsChance, "randAscii": needsChance, "randNumeric": needsChance,
	"randBytes": needsChance, "randInt": needsChance, "shuffle": needsChance, "uuidv4": needsChance,
	"bcrypt": needsChance, "htpasswd": needsChance, "encryptAES": needsChance,
	"genPrivateKey": needsChance, "genCA": needsChance, "genCAWithKey": needsChance, "genSelfSignedCert": needsChance,
	"genSelfSignedCertWithKey": needsChance, "genSignedCert": needsChance, "genSignedCertWithKey": needsChance,
}

// functions are what all templates may call, absent ones included; include is made for each.
var functions = known()

func known() template.FuncMap {
	// Times that are read without a zone are in UTC, whatever the machine has.
	time.Local = time.UTC
	functions := sprig.TxtFuncMap()
	maps.Copy(functions, template.FuncMap{
		"fromJson": lenientJSON, "mustFromJson": func(text string) (any, error) { return fromJSON([]byte(text)) },
		"toYaml": toYAML, "mustToYaml": toYAML, "fromYaml": fromYAML, "mustFromYaml": fromYAML,
		"required": required, "printf": printf, "keys": keys, "values": values, "index": index,

		fieldFunction: field, textFunction: text, printFunction: text,
	})
	for name := range absent {
		functions[name] = func(...any) (any, error) { return nil, errors.New("not there") }
	}
	return functions
}

// lenientJSON is Sprig's fromJson: nil for what is no JSON.
func lenientJSON(text string) any {
	value, err := fromJSON([]byte(text))
	if err != nil {
		return nil
	}
	return value
}

func toYAML(value any) (string, error) {
	bytes, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(bytes), "\n"), err
}

func fromYAML(text string) (any, error) {
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return fromJSON(json)
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

// printf is Go's, without the verb that prints addresses: they are not the same twice.
func printf(format string, args ...any) (string, error) {
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return fmt.Sprintf(format, args...), nil
		}
		rest = strings.TrimLeft(after, "+-# 0123456789.*[]")
		if strings.HasPrefix(rest, "p") {
			return "", errors.New("%p prints an address, which is not the same twice")
		}
		// The verb itself, which may be another %.
		if rest != "" {
			rest = rest[1:]
		}
	}
}

// keys is Sprig's in a fixed order.
func keys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

// values is Sprig's in the order of the keys.
func values(dict map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}
