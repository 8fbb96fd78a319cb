package tables_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"furrow/tables"
	"furrow/tables/local"
	"furrow/tables/schema"
)

// A device writes three readings. A reader that has read the first one continues from
// there, up to a horizon.
func Example() {
	dir, err := os.MkdirTemp("", "furrow")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	storage, err := local.Start(local.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer storage.Close()

	account, err := tables.ParseAccount(storage.ConnectionString())
	if err != nil {
		log.Fatal(err)
	}
	client, err := tables.Connect(tables.Config{Account: account})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	readings := client.Table(schema.Names{}.Readings())
	if err := readings.Create(ctx); err != nil {
		log.Fatal(err)
	}

	start := tables.TicksOf(time.Date(2026, time.November, 20, 9, 17, 0, 0, time.UTC))
	for i := range 3 {
		r := schema.Reading{
			Device:     "contoso:us-5260:Giles",
			Key:        schema.RowKey{Ticks: start.Add(time.Duration(i) * time.Minute)},
			Properties: []tables.Property{{Name: "Temperature", Value: tables.Double(20 + float64(i)/4)}},
		}
		if _, err := readings.Do(ctx, tables.Insert(r.Entity())); err != nil {
			log.Fatal(err)
		}
	}

	horizon := start.Add(time.Hour)
	after := tables.RowsAfter("contoso:us-5260:Giles", start.String(), horizon.String())
	for page, err := range readings.Rows(ctx, tables.Query{Range: after}) {
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range page.Rows {
			r, err := schema.ReadingOf(row)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(r.Key, r.Key.Ticks.Time().Format(time.TimeOnly), r.Properties)
		}
	}
	// Output:
	// 0639307630800000000 09:18:00 [{Temperature 20.25}]
	// 0639307631400000000 09:19:00 [{Temperature 20.5}]
}
