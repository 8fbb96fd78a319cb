package main

import "github.com/urfave/cli/v2"

func storageCommand() *cli.Command {
	return &cli.Command{Name: "storage"}
}
