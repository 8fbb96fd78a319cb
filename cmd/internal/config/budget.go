package config

import "github.com/goccy/go-yaml/ast"

// budget returns the key for what a month may cost.
func (r *reader) budget(c *Config) key {
	return key{name: "budget", read: func(n ast.Node) {
		r.within("budget", func() {
			var dollars *float64
			k := r.number("usdPerMonth", &dollars)
			k.must = true
			r.object(n, "a map like {usdPerMonth: 50}", k)
			switch {
			case dollars == nil:
			case *dollars <= 0:
				r.problem(n, "usdPerMonth: %v; want more than 0, or no budget", *dollars)
			default:
				c.Budget = *dollars
			}
		})
	}}
}

// shownBudget is the shape of a budget in a file.
type shownBudget struct {
	USDPerMonth float64 `yaml:"usdPerMonth" json:"usdPerMonth"`
}
