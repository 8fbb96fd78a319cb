package service

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Credential returns the given credential, or without one that of the environment, a workload or managed identity, or
// a developer's login.
func Credential(given azcore.TokenCredential) (azcore.TokenCredential, error) {
	if given != nil {
		return given, nil
	}
	found, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("no key, no SAS, and no Entra credential: %w", err)
	}
	return found, nil
}
