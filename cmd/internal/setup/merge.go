package setup

import (
	"net"
	"sync"
)

// Merge listens on both: a server that is reached over TLS from elsewhere can be
// reached in the clear on loopback, too. Its address is that of the first.
func Merge(first, second net.Listener) net.Listener {
	m := &merged{Listener: first, second: second, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, l := range []net.Listener{first, second} {
		m.running.Go(func() { m.accept(l) })
	}
	return m
}

type merged struct {
	net.Listener
	second   net.Listener
	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
	running  sync.WaitGroup
}

type accepted struct {
	conn net.Conn
	err  error
}

// accept hands connections of one listener on until it is closed.
func (m *merged) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		select {
		case m.accepted <- accepted{conn, err}:
		case <-m.closed:
			if conn != nil {
				_ = conn.Close() // nobody is there to serve it
			}
			return
		}
	}
}

func (m *merged) Accept() (net.Conn, error) {
	select {
	case a := <-m.accepted:
		return a.conn, a.err
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *merged) Close() (err error) {
	m.once.Do(func() {
		close(m.closed)
		err = m.Listener.Close()
		if e := m.second.Close(); err == nil {
			err = e
		}
		m.running.Wait()
	})
	return err
}
