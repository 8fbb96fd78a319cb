// Package times reads times of files as ticks. A time is a date with a clock, or a number of units since an origin. All
// arithmetic is on integers, so that a time has the same ticks in every form.
package times
