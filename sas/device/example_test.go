package device_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"furrow/sas/device"
)

// A device sends a reading. The two servers stand in for the token endpoint and storage.
func Example() {
	stored := make(chan string, 1)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		row, _ := io.ReadAll(r.Body)
		stored <- string(row)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer storage.Close()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UTC()
		fmt.Fprintf(w, `{"device":"pump-7","url":"%s/readings","sas":"sig=x","partitionKey":"pump-7","rowKeyFormat":"ticks19[-suffix]",
			"earliestRowKey":"0000000000000000000","latestRowKey":"3000000000000000000","expires":"%s","renewAfter":"%s","serverTime":"%s","sendEvery":60,"batch":100}`,
			storage.URL, now.Add(time.Hour).Format(time.RFC3339), now.Add(time.Minute).Format(time.RFC3339),
			now.Format(time.RFC3339Nano))
	}))
	defer endpoint.Close()
	dir, err := os.MkdirTemp("", "pump")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	client, err := device.Open(device.Config{
		Endpoint:   endpoint.URL,
		Device:     "pump-7",
		Enrollment: "plant1",
		Key:        "Jsm0lyGpjaVYVP2g3FnmnmG9dI/9qU24wNoykUmermc=",
		File:       filepath.Join(dir, "readings"),
		OnReport:   func(r device.Report) { log.Print(r.Reason, r.Err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { client.Run(ctx) })

	noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	values := map[string]any{"Temperature": 21.5, "Pump": "on"}
	if err := client.Send(device.Reading{Time: noon, Values: values}); err != nil {
		log.Fatal(err)
	}
	if err := client.Flush(ctx); err != nil {
		log.Fatal(err)
	}
	key, sensors, _ := strings.Cut(<-stored, `,"Pump"`)
	fmt.Println(key[:len(`{"PartitionKey":"pump-7","RowKey":"0639308592000000000`)] + "-…")
	fmt.Println(`"Pump"` + sensors)
	fmt.Println("stored:", client.Stats().Stored)

	cancel()
	running.Wait()
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"PartitionKey":"pump-7","RowKey":"0639308592000000000-…
	// "Pump":"on","Temperature@odata.type":"Edm.Double","Temperature":21.5}
	// stored: 1
}
