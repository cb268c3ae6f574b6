package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// batch is a request: templates that see the same values.
type batch struct {
	Templates []string        `json:"templates"`
	Values    json.RawMessage `json:"values"`
	// Output is the most bytes of one result.
	Output int `json:"output"`

	values any
}

func decode(input []byte) (*batch, error) {
	var read batch
	if err := json.Unmarshal(input, &read); err != nil {
		return nil, err
	}
	if len(read.Values) > 0 {
		values, err := fromJSON(read.Values)
		if err != nil {
			return nil, err
		}
		read.values = values
	}
	return &read, nil
}

// fromJSON reads JSON with whole numbers as integers: as floats, 1000000 would print as 1e+06.
func fromJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errTrailing
	}
	return numbered(value), nil
}

// numbered has Go's numbers instead of JSON's.
func numbered(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, element := range value {
			value[key] = numbered(element)
		}
	case []any:
		for i, element := range value {
			value[i] = numbered(element)
		}
	case json.Number:
		return number(string(value))
	}
	return value
}

func number(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
			return int(whole)
		}
		if whole, err := strconv.ParseUint(text, 10, 64); err == nil {
			return whole
		}
	}
	// Out of range is infinite.
	float, _ := strconv.ParseFloat(text, 64)
	return float
}

// copied is the values for one template: Sprig's set, unset and merge change what they are given.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copy := make(map[string]any, len(value))
		for key, element := range value {
			copy[key] = copied(element)
		}
		return copy
	case []any:
		copy := make([]any, len(value))
		for i, element := range value {
			copy[i] = copied(element)
		}
		return copy
	}
	return value
}
