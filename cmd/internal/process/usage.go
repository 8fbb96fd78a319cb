package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, on every platform of Linux that Go supports.
const tick = 10 * time.Millisecond

// CPU returns the CPU time that a process has used, and 0 where Linux's /proc does not tell. PID 0 is this process.
func CPU(pid int) time.Duration {
	if pid == 0 {
		pid = os.Getpid()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may have spaces. utime and stime are the 12th and 13th fields after it.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick
}

// PeakMemory returns the peak resident memory in bytes of a running process, and 0 where Linux's /proc does not tell.
// PID 0 is this process.
func PeakMemory(pid int) int64 {
	if pid == 0 {
		pid = os.Getpid()
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
	kb, _ := strconv.ParseInt(value, 10, 64)
	return kb << 10
}
