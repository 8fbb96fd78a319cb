// Package check verifies a demo: package verify compares the outputs with the readings that are stored, and this one
// compares those with what the demo alone knows: what devices have sent, what storage has told them, what a webhook
// received, and which commands a device has obeyed.
//
// It shares the keys of tables with the rest of the program (package schema), and no code that folds, merges or
// counts.
package check
