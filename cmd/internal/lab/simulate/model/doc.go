// Package model computes what probes in the ground measure, all over the world.
//
// Every reading is a function of a seed, a place and a time. It does not depend on earlier readings, so that
// readings can be computed in any order. The weather is smooth noise that drifts eastwards, so that neighbours
// share it. The warmth of the day and of the year reaches deeper sensors flatter and later.
package model
