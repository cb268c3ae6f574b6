package main

import (
	"encoding/json"
	"runtime/debug"
	"unsafe"
)

// The host ends the module above its own limit; before that the collector works harder.
const softMemory = 64 << 20

var input []byte

func init() {
	debug.SetMemoryLimit(softMemory)
}

// answer gives the host one result, in the order of the templates: the text, or JSON of a failure.
//
//go:wasmimport pintle answer
func answer(good uint32, at unsafe.Pointer, size uint32)

// alloc makes room for the request, a JSON batch.
//
//go:wasmexport alloc
func alloc(size uint32) unsafe.Pointer {
	input = make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(input))
}

// check reads the templates. It returns 1 if the request could not be read.
//
//go:wasmexport check
func check() uint32 {
	return each(func(_ *batch, text string) (string, *failure) { return "", checked(text) })
}

// render renders the templates. It returns 1 if the request could not be read.
//
//go:wasmexport render
func render() uint32 {
	return each(func(batch *batch, text string) (string, *failure) { return batch.rendered(text) })
}

func each(work func(*batch, string) (string, *failure)) uint32 {
	batch, err := decode(input)
	input = nil
	if err != nil {
		return 1
	}
	for _, text := range batch.Templates {
		result, failed := work(batch, text)
		if failed == nil {
			tell(1, []byte(result))
			continue
		}
		// Its fields are numbers and strings.
		bytes, _ := json.Marshal(failed)
		tell(0, bytes)
	}
	return 0
}

func tell(good uint32, bytes []byte) {
	answer(good, unsafe.Pointer(unsafe.SliceData(bytes)), uint32(len(bytes)))
}
