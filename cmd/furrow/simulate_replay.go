package main

import (
	"errors"

	"github.com/urfave/cli/v2"
)

func replayFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "replay", Usage: "send the readings of `FILE`"}}
}

func newReplay(*cli.Context) (*simulation, error) { return nil, errors.New("not yet") }
