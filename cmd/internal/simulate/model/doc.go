// Package model is a world to measure: places, weather that neighbours share, and
// what probes in the ground read of it.
//
// All of it is a function of a seed, a place and a time, and nothing is remembered
// but to be quick: any reading can be had by itself, and in any order, and is the
// same to the bit. The weather is smooth noise that drifts eastwards; the rest follows
// from it as in a textbook: the warmth of day and year goes down into the ground as a
// wave that gets flatter and later with depth, and rain wets a soil that dries out.
package model
