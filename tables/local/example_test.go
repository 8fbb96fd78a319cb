package local_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"furrow/tables/local"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A test that starts storage of its own reaches it through an Azure SDK.
func Example() {
	dir, err := os.MkdirTemp("", "storage") // in a test: t.TempDir()
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	storage, err := local.Start(local.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer storage.Close()

	service, err := aztables.NewServiceClientFromConnectionString(storage.ConnectionString(), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := service.CreateTable(ctx, "readings", nil); err != nil {
		log.Fatal(err)
	}
	readings := service.NewClient("readings")
	entity := `{"PartitionKey": "pump-7", "RowKey": "1", "temperature": 21.5}`
	if _, err := readings.AddEntity(ctx, []byte(entity), nil); err != nil {
		log.Fatal(err)
	}
	_, err = readings.AddEntity(ctx, []byte(entity), nil)
	fmt.Println(err != nil) // 409 EntityAlreadyExists, as on Azure
	// Output: true
}
