// Package factory reads the files in which a factory says which devices it has
// made, in CSV or as lines of JSON, and makes those devices known. What is wrong in
// a file is said with its line; the other lines count.
package factory
