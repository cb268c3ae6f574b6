package main

import (
	"errors"
	"fmt"
	"reflect"
)

// field follows names from a value: nil where a key is missing, and from nil on.
func field(from any, names ...string) (any, error) {
	for _, name := range names {
		if isNil(from) {
			return nil, nil
		}
		var err error
		if from, err = member(from, name); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// member is the element of a map, or what a method or a field of Sprig's own types has, as Go finds them.
func member(from any, name string) (any, error) {
	if values, is := from.(map[string]any); is {
		return values[name], nil
	}
	value := reflect.ValueOf(from)
	if method := value.MethodByName(name); method.IsValid() {
		return called(method, name)
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Map:
		if value.Type().Key().Kind() != reflect.String {
			break
		}
		element := value.MapIndex(reflect.ValueOf(name).Convert(value.Type().Key()))
		if !element.IsValid() {
			return nil, nil
		}
		return element.Interface(), nil
	case reflect.Struct:
		found, is := value.Type().FieldByName(name)
		if !is {
			break
		}
		if !found.IsExported() {
			return nil, fmt.Errorf("%s is an unexported field of struct type %T", name, from)
		}
		return value.FieldByIndex(found.Index).Interface(), nil
	}
	return nil, fmt.Errorf("can't evaluate field %s in type %T", name, from)
}

// called calls a method without arguments.
func called(method reflect.Value, name string) (any, error) {
	kind := method.Type()
	if kind.NumIn() > 0 && !(kind.IsVariadic() && kind.NumIn() == 1) {
		return nil, fmt.Errorf("wrong number of args for %s: want %d got 0", name, kind.NumIn())
	}
	failure := reflect.TypeFor[error]()
	if kind.NumOut() == 0 || kind.NumOut() > 2 || kind.NumOut() == 2 && kind.Out(1) != failure {
		return nil, fmt.Errorf("can't call method/function %q with %d results", name, kind.NumOut())
	}
	results := method.Call(nil)
	if len(results) == 2 && !results[1].IsNil() {
		return nil, fmt.Errorf("error calling %s: %w", name, results[1].Interface().(error))
	}
	return results[0].Interface(), nil
}

func isNil(value any) bool {
	if value == nil {
		return true
	}
	pointer := reflect.ValueOf(value)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}

// text is a nil as a string, and other values as they are.
func text(value any) any {
	if value == nil {
		return ""
	}
	return value
}

// index is Go's own, except that a missing key and any key of nil give nil.
func index(from any, keys ...any) (any, error) {
	for _, key := range keys {
		if isNil(from) {
			return nil, nil
		}
		value := reflect.ValueOf(from)
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		switch value.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			at, err := position(key, value.Len())
			if err != nil {
				return nil, err
			}
			from = value.Index(at).Interface()
		case reflect.Map:
			found, err := keyed(key, value.Type().Key())
			if err != nil {
				return nil, err
			}
			element := value.MapIndex(found)
			if !element.IsValid() {
				from = nil
				continue
			}
			from = element.Interface()
		default:
			return nil, fmt.Errorf("can't index item of type %s", value.Type())
		}
	}
	return from, nil
}

func position(key any, length int) (int, error) {
	if key == nil {
		return 0, errors.New("cannot index slice/array with nil")
	}
	value := reflect.ValueOf(key)
	var at int64
	switch {
	case value.CanInt():
		at = value.Int()
	case value.CanUint():
		at = int64(value.Uint())
	default:
		return 0, fmt.Errorf("cannot index slice/array with type %T", key)
	}
	if at < 0 || at >= int64(length) {
		return 0, fmt.Errorf("index out of range: %d", at)
	}
	return int(at), nil
}

func keyed(key any, kind reflect.Type) (reflect.Value, error) {
	if key == nil {
		return reflect.Value{}, fmt.Errorf("value is nil; should be of type %s", kind)
	}
	value := reflect.ValueOf(key)
	whole := value.CanInt() || value.CanUint()
	kindWhole := reflect.Zero(kind).CanInt() || reflect.Zero(kind).CanUint()
	switch {
	case value.Type().AssignableTo(kind):
		return value, nil
	case whole && kindWhole:
		return value.Convert(kind), nil
	}
	return reflect.Value{}, fmt.Errorf("value has type %T; should be %s", key, kind)
}
