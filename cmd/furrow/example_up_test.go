package main

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// An upProcess is furrow up as a process that can be killed and started again at the same addresses.
type upProcess struct {
	args []string
	cmd  *exec.Cmd
	errs *lockedBuffer
	said upScreen
}

func startUpProcess(t *testing.T, dir string, more ...string) *upProcess {
	t.Helper()
	port := fourPorts(t)
	u := &upProcess{errs: &lockedBuffer{}, args: append([]string{"up", "--json", "--storage", dir, "--no-dashboard",
		"--storage-port", strconv.Itoa(port), "--listen", "127.0.0.1:" + strconv.Itoa(port+3)}, more...)}
	u.start(t)
	return u
}

// fourPorts returns the first of four free ports that no program is given for an outgoing connection while the process
// does not run.
func fourPorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		first, free := 20_000+4*rand.IntN(3000), 0
		for port := first; port < first+4; port++ {
			if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
				free++
				must(t, l.Close())
			}
		}
		if free == 4 {
			return first
		}
	}
	t.Fatal("there are no four free ports in a row")
	return 0
}

func (u *upProcess) start(t *testing.T) {
	t.Helper()
	out, in, err := os.Pipe()
	must(t, err)
	defer out.Close()
	u.cmd = startProcess(t, in, u.errs, nil, u.args...)
	in.Close()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, u.errs)
	}
	must(t, json.Unmarshal(line, &u.said))
}

func (u *upProcess) kill(t *testing.T) {
	t.Helper()
	must(t, u.cmd.Process.Kill())
	_ = u.cmd.Wait()
}
