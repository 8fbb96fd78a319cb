package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables/schema"
)

func enrollmentResealCommand() *cli.Command {
	return &cli.Command{
		Name:  "reseal",
		Usage: "Seal the keys of all enrollments with a new master key",
		Description: `The master key is replaced in three steps. First put the new one before the old one, with the word former
between them, where each endpoint has its master key: all of them then open what either key has sealed. Then
run this command, which may be stopped and repeated. Then remove the word and the old key. Keys of devices and
enrollments stay the same. See furrow help operations.` + examples("enrollment reseal --master-key-file /etc/furrow/master.key"),
		Flags:  append(append(storageFlags(), masterFlags()...), jsonFlag()),
		Action: enrollmentReseal,
	}
}

// resealedLine is what was sealed again, in JSON.
type resealedLine struct {
	Resealed int `json:"resealed"` // enrollments whose keys a former master key had sealed
}

func enrollmentReseal(c *cli.Context) error {
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	source, err := d.unseal(false)
	if err != nil {
		return err
	}
	var line resealedLine
	err = d.recorded(c.Context, schema.Act{What: "enrollment reseal"}, func(ctx context.Context) (_ string, err error) {
		line.Resealed, err = d.Enrollments.Reseal(ctx)
		return line.text(), err
	})
	if errors.Is(err, sas.ErrSealingKey) {
		err = fmt.Errorf("%w. Name it after the word former in %s", err, source)
	}
	return printAct(c, err, line, fmt.Sprintf("Sealed again: %s. All are sealed with the first master key in %s; "+
		"no former one is needed any more.", line.text(), source))
}

func (l resealedLine) text() string { return "keys of " + many(int64(l.Resealed), "enrollment") }
