package setup

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestMergedListenersAreBothHeard(t *testing.T) {
	var listeners []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	m := Merge(listeners[0], listeners[1])
	if m.Addr() != listeners[0].Addr() {
		t.Errorf("its address is %v", m.Addr())
	}
	for _, l := range listeners {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		served, err := m.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := served.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_ = served.Close()
		if got, err := io.ReadAll(c); err != nil || string(got) != "x" {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
	for _, l := range listeners {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			_ = c.Close()
			t.Errorf("%v still listens", l.Addr())
		}
	}
	if err := m.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
