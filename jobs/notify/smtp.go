package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/schema"

	"github.com/wneessen/go-mail"
)

// An SMTP target receives mails. The connection is always encrypted: by STARTTLS, and on port 465 from the beginning.
type SMTP struct {
	Server string `yaml:"server,required" least:"1"` // host:port
	From   string `yaml:"from,required" least:"1"`
	// To are addresses, or one labels.NAME: the address is in that label of the device.
	To           []string `yaml:"to,required" is:"any"`
	User         string   `yaml:"user" least:"1"`         // empty: the address in From
	PasswordFile string   `yaml:"passwordFile" least:"1"` // empty: the server asks for none
	// Private allows addresses of private networks.
	Private bool `yaml:"private" choice:"true false" want:"true, if addresses of private networks are meant, or false"`
}

// Name is smtp.
func (*SMTP) Name() string                   { return "smtp" }
func (k *SMTP) String() string               { return k.Server + " to " + strings.Join(k.To, ", ") }
func (*SMTP) fits(all []schema.Delivery) int { return fewer(all) }

func (k *SMTP) check() error {
	var wrong []error
	host, port, err := net.SplitHostPort(k.Server)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
		wrong = append(wrong, fmt.Errorf("server %q; want a host and a port, such as smtp.example:587", k.Server))
	}
	if _, err := netmail.ParseAddress(k.From); err != nil {
		wrong = append(wrong, fmt.Errorf("from %q; want an address such as furrow@example.com", k.From))
	}
	if len(k.To) == 0 {
		wrong = append(wrong, errors.New("no to; want an address, a list of them, or labels.NAME"))
	}
	for _, to := range k.To {
		if label, is := strings.CutPrefix(to, labelPrefix); is && label != "" && len(k.To) == 1 {
			continue
		}
		if _, err := netmail.ParseAddress(to); err != nil {
			wrong = append(wrong, fmt.Errorf("to %q; want an address such as ops@example.com, a list of them, or one "+
				"labels.NAME", to))
		}
	}
	return errors.Join(wrong...)
}

func (k *SMTP) recipients(d schema.Delivery) string {
	label, is := strings.CutPrefix(k.To[0], labelPrefix)
	if !is {
		return strings.Join(k.To, "\n")
	}
	to, err := netmail.ParseAddress(d.Labels[label])
	if err != nil {
		return ""
	}
	return to.Address
}

func (k *SMTP) send(ctx context.Context, n *Notifier, m message) error {
	mailing, err := k.mail(m)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(k.Server)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	options := []mail.Option{mail.WithPort(number), mail.WithTimeout(sendWithin), mail.WithTLSPolicy(mail.TLSMandatory),
		mail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: n.roots(), MinVersion: tls.VersionTLS12})}
	dial := dialer(k.Private).DialContext
	if number == 465 {
		options = append(options, mail.WithSSL())
		secure := &tls.Dialer{NetDialer: dialer(k.Private), Config: &tls.Config{ServerName: host, RootCAs: n.roots()}}
		dial = secure.DialContext
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialed := func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil { // the library keeps it open after some failures
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	options = append(options, mail.WithDialContextFunc(dialed))
	if k.PasswordFile != "" {
		password, err := readSecret(k.PasswordFile)
		if err != nil {
			return fmt.Errorf("reading the password: %w", err)
		}
		from, err := netmail.ParseAddress(k.From)
		if err != nil {
			return err
		}
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithPassword(password),
			mail.WithUsername(cmp.Or(k.User, from.Address)))
	}
	c, err := mail.NewClient(host, options...)
	if err != nil {
		return err
	}
	if m.seen != nil {
		m.seen.Request = "to " + m.recipients + "\n\n" + m.subject() + "\n\n" + m.text()
	}
	err = c.DialAndSendWithContext(ctx, mailing)
	e, ok := errors.AsType[*mail.SendError](err)
	if !ok || e.IsTemp() {
		return err
	}
	if to := strings.Split(m.recipients, "\n"); e.Reason == mail.ErrSMTPRcptTo && len(to) > 1 {
		return k.sendEach(ctx, c, m, to)
	}
	return &ownError{err} // the server works, and refuses this mail
}

// sendEach sends a mail to each recipient alone: where the server refuses one of them, nobody else is to miss it.
func (k *SMTP) sendEach(ctx context.Context, c *mail.Client, m message, to []string) error {
	var all []*mail.Msg
	for _, m.recipients = range to {
		one, err := k.mail(m)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	err := c.DialAndSendWithContext(ctx, all...)
	switch {
	case slices.ContainsFunc(all, (*mail.Msg).SendErrorIsTemp):
		return err
	case slices.ContainsFunc(all, (*mail.Msg).IsDelivered):
		return &partly{err}
	}
	return &ownError{err}
}

// mail returns a message as a mail.
func (k *SMTP) mail(m message) (*mail.Msg, error) {
	to := mail.NewMsg()
	if err := to.From(k.From); err != nil {
		return nil, err
	}
	if err := to.To(strings.Split(m.recipients, "\n")...); err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(k.From)
	if err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	to.SetMessageIDWithValue(m.id + "@" + domain) // the same for each repetition
	to.SetDateWithValue(m.at)
	to.SetGenHeader("Auto-Submitted", "auto-generated")
	to.Subject(m.subject())
	to.SetBodyString(mail.TypeTextPlain, m.text())
	return to, nil
}

// subject describes a message in one line.
func (m message) subject() string {
	if len(m.deliveries) == 1 {
		d := m.deliveries[0]
		return fmt.Sprintf("[%s] %s %s on %s", d.Severity, d.Transition.ID.Rule, d.What, d.Transition.ID.Device)
	}
	return fmt.Sprintf("%d changes of incidents: %s", len(m.deliveries), groupText(m.target.group(m.deliveries[0])))
}

// text describes a message to people.
func (m message) text() string {
	var b strings.Builder
	if m.test {
		b.WriteString("This is a test of notifications.\n\n")
	}
	for _, d := range m.deliveries {
		again := ""
		if d.Repeat > 0 {
			again = ", still open"
		}
		site := ""
		if d.Site != "" {
			site = " at " + string(d.Site)
		}
		fmt.Fprintf(&b, "%s  %s: %s %s%s\n  %s%s: %s\n  %s\n\n", d.At.Time().Format("2006-01-02 15:04:05 UTC"), d.Severity,
			d.Transition.ID.Rule, d.What, again, d.Transition.ID.Device, site, d.Text, d.Transition.ID)
	}
	return b.String()
}
