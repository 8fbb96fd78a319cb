package azuretest

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	queuesas "github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

// A SAS of the account is for a whole service, as far as its resource types and permissions go.
func (tables) AccountTokenHoldsForItsTypesAndPermissions(t *testing.T, a Account) {
	bearing := func(types, permissions string) *aztables.ServiceClient {
		cred, err := aztables.NewSharedKeyCredential(a.Name, a.Key)
		must(t, err)
		q, err := aztables.AccountSASSignatureValues{Services: "t", ResourceTypes: types, Permissions: permissions,
			ExpiryTime: inAnHour()}.Sign(cred)
		must(t, err)
		c, err := aztables.NewServiceClientWithNoCredential(a.TableURL+"?"+q.Encode(),
			&aztables.ClientOptions{ClientOptions: a.options()})
		must(t, err)
		return c
	}
	name, row := Name("t"), []byte(`{"PartitionKey":"p","RowKey":"r"}`)
	all, reader := bearing("sco", "rwdlacu"), bearing("o", "r")
	expect(t, a, "create", outcome(all.CreateTable(t.Context(), name, nil)), "ok")
	table := all.NewClient(name)
	expect(t, a, "insert", outcome(table.AddEntity(t.Context(), row, nil)), "ok")
	expect(t, a, "upsert", outcome(table.UpsertEntity(t.Context(), row, nil)), "ok")
	expect(t, a, "transaction", outcome(table.SubmitTransaction(t.Context(),
		[]aztables.TransactionAction{{ActionType: aztables.TransactionTypeUpdateMerge, Entity: row}}, nil)), "ok")
	expect(t, a, "read", outcome(reader.NewClient(name).GetEntity(t.Context(), "p", "r", nil)), "ok")
	expect(t, a, "insert with r", refusal(reader.NewClient(name).AddEntity(t.Context(), row, nil)), 403)
	expect(t, a, "delete with objects only", refusal(reader.DeleteTable(t.Context(), name, nil)), 403)
	expect(t, a, "delete", outcome(all.DeleteTable(t.Context(), name, nil)), "ok")
}

func (queues) AccountTokenHoldsForItsTypesAndPermissions(t *testing.T, a Account) {
	bearing := func(types, permissions string) *azqueue.ServiceClient {
		cred, err := azqueue.NewSharedKeyCredential(a.Name, a.Key)
		must(t, err)
		q, err := queuesas.AccountSignatureValues{ResourceTypes: types, Permissions: permissions,
			ExpiryTime: inAnHour()}.SignWithSharedKey(cred)
		must(t, err)
		c, err := azqueue.NewServiceClientWithNoCredential(a.QueueURL+"?"+q.Encode(),
			&azqueue.ClientOptions{ClientOptions: a.options()})
		must(t, err)
		return c
	}
	name := Name("q")
	all, adder := bearing("sco", "rwdlacup"), bearing("o", "a")
	expect(t, a, "create", outcome(all.CreateQueue(t.Context(), name, nil)), "ok")
	expect(t, a, "put", outcome(adder.NewQueueClient(name).EnqueueMessage(t.Context(), "x", nil)), "ok")
	expect(t, a, "get", outcome(all.NewQueueClient(name).DequeueMessage(t.Context(), nil)), "ok")
	expect(t, a, "get with a", refusal(adder.NewQueueClient(name).DequeueMessage(t.Context(), nil)), 403)
	expect(t, a, "delete with objects only", refusal(adder.DeleteQueue(t.Context(), name, nil)), 403)
	expect(t, a, "delete", outcome(all.DeleteQueue(t.Context(), name, nil)), "ok")
}

func (blobs) AccountTokenHoldsForItsTypesAndPermissions(t *testing.T, a Account) {
	bearing := func(types sas.AccountResourceTypes, p sas.AccountPermissions) *service.Client {
		url, err := a.Blobs(t).ServiceClient().GetSASURL(types, p, inAnHour(), nil)
		must(t, err)
		c, err := service.NewClientWithNoCredential(url, &service.ClientOptions{ClientOptions: a.options()})
		must(t, err)
		return c
	}
	name := Name("c")
	all := bearing(sas.AccountResourceTypes{Service: true, Container: true, Object: true},
		sas.AccountPermissions{Read: true, Write: true, Delete: true, List: true, Create: true})
	creator := bearing(sas.AccountResourceTypes{Object: true}, sas.AccountPermissions{Create: true})
	expect(t, a, "create", outcome(all.CreateContainer(t.Context(), name, nil)), "ok")
	blob := func(c *service.Client) *blockblob.Client {
		return c.NewContainerClient(name).NewBlockBlobClient("b")
	}
	expect(t, a, "put", outcome(blob(creator).Upload(t.Context(), content("x"), nil)), "ok")
	expect(t, a, "overwrite with c", refusal(blob(creator).Upload(t.Context(), content("y"), nil)), 403)
	expect(t, a, "overwrite", outcome(blob(all).Upload(t.Context(), content("z"), nil)), "ok")
	expect(t, a, "read with c", refusal(blob(creator).DownloadStream(t.Context(), nil)), 403)
	expect(t, a, "delete with objects only", refusal(creator.DeleteContainer(t.Context(), name, nil)), 403)
	expect(t, a, "delete", outcome(all.DeleteContainer(t.Context(), name, nil)), "ok")
}
