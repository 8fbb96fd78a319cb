package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"
)

// A request is what package apiclients writes to standard input.
type request struct {
	URL, Authorization string
	Calls              []struct {
		Operation string
		InPath    []string
		Params    map[string]any
		Body      any
	}
}

// callAll calls a method of a generated client for each operation, and prints what it returned, as JSON in a line.
func callAll(suffix string, connect func(url, authorization string) (any, error)) {
	if err := tryAll(suffix, connect); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tryAll(suffix string, connect func(url, authorization string) (any, error)) error {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return err
	}
	client, err := connect(r.URL, r.Authorization)
	if err != nil {
		return err
	}
	for _, c := range r.Calls {
		name := strings.ToUpper(c.Operation[:1]) + c.Operation[1:] + suffix
		method := reflect.ValueOf(client).MethodByName(name)
		if !method.IsValid() {
			return fmt.Errorf("the client has no %s", name)
		}
		inPath, in := c.InPath, []reflect.Value{reflect.ValueOf(context.Background())}
		for i := 1; i < method.Type().NumIn() && !(method.Type().IsVariadic() && i == method.Type().NumIn()-1); i++ {
			argument := reflect.New(method.Type().In(i))
			var err error
			switch at := strings.TrimPrefix(argument.Elem().Type().String(), "*"); {
			case strings.HasSuffix(at, "Params"):
				err = setParams(argument.Elem(), c.Params)
			case len(inPath) > 0 && suffix != "":
				argument.Elem().SetString(c.Params[inPath[0]].(string))
				inPath = inPath[1:]
			default:
				err = convert(c.Body, argument.Interface())
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			in = append(in, argument.Elem())
		}
		out := method.Call(in)
		if err, failed := out[1].Interface().(error); failed {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := json.Marshal(answer(out[0]))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println(string(text))
	}
	return nil
}

func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// setParams sets the fields of a struct, or of a pointer to one, that have the names of parameters. A field is a value,
// a pointer to one, or a struct of Value and Set.
func setParams(of reflect.Value, params map[string]any) error {
	if of.Kind() == reflect.Pointer {
		of.Set(reflect.New(of.Type().Elem()))
		of = of.Elem()
	}
	for name, value := range params {
		field := of.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, name) })
		if !field.IsValid() {
			continue // is in the path
		}
		if field.Kind() == reflect.Struct && field.FieldByName("Set").IsValid() {
			field.FieldByName("Set").SetBool(true)
			field = field.FieldByName("Value")
		}
		if field.Type() == reflect.TypeFor[time.Time]() {
			value = value.(string) + "T00:00:00Z"
		}
		if err := convert(value, field.Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// answer returns what a program would read of an answer: the value in JSON, or else a text.
func answer(v reflect.Value) any {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	all := v
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	} else if v.CanAddr() {
		all = v.Addr() // has the methods that write it
	}
	if v.Kind() != reflect.Struct {
		return all.Interface()
	}
	if value := v.FieldByName("JSON200"); value.IsValid() && !value.IsNil() {
		return value.Interface()
	}
	if text := v.FieldByName("Body"); text.IsValid() && text.Type() == reflect.TypeFor[[]byte]() {
		return string(text.Bytes())
	}
	if text := v.FieldByName("Data"); text.IsValid() && text.Type() == reflect.TypeFor[io.Reader]() {
		data, _ := io.ReadAll(text.Interface().(io.Reader))
		return string(data)
	}
	if value := v.FieldByName("Response"); value.IsValid() {
		return answer(value)
	}
	return all.Interface()
}
