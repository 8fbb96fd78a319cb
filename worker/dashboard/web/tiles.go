package web

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Tiles is a server of map tiles in the Web Mercator projection. Browsers ask it for the parts that they show, so it
// learns where people look.
type Tiles struct {
	Template string // address of a tile, with {z}, {x} and {y}
	origin   string
}

// ParseTiles parses the template of a server's addresses.
func ParseTiles(template string) (Tiles, error) {
	for _, name := range []string{"{z}", "{x}", "{y}"} {
		if strings.Count(template, name) != 1 {
			return Tiles{}, errors.New("write the address of a tile with {z}, {x} and {y}, such as " +
				"https://tile.openstreetmap.org/{z}/{x}/{y}.png")
		}
	}
	u, err := url.Parse(strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0").Replace(template))
	if err != nil {
		return Tiles{}, err
	}
	ip, notIP := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || notIP == nil && ip.IsLoopback()
	if u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return Tiles{}, errors.New("use an address that begins with https://")
	}
	if u.User != nil || strings.ContainsAny(u.Host, ";, '*{}") || strings.Contains(u.Host, "*") {
		return Tiles{}, errors.New("name one host, without a user")
	}
	return Tiles{template, u.Scheme + "://" + u.Host}, nil
}

// policy is the content security policy of pages: images may come from the host of the tiles alone.
func (t Tiles) policy() string {
	if t.origin == "" {
		return Policy
	}
	return strings.Replace(Policy, "img-src 'self'", "img-src 'self' "+t.origin, 1)
}

// credit names whom the tiles are from.
func (t Tiles) credit() string {
	_, host, _ := strings.Cut(t.origin, "://")
	if strings.HasSuffix(host, "openstreetmap.org") {
		return "© OpenStreetMap contributors"
	}
	return host
}
