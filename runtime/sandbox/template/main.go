// Renders Go templates with Sprig and YAML, as a WebAssembly module that a host gives texts and values.
//
// It has no clock, no randomness and nothing of the machine, so the same texts and values give the same results.
package main

// The module has no life of its own: its host calls what it exports.
func main() {}
