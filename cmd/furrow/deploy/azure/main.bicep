// Furrow on Azure Container Apps: a storage account, a key vault, and an app for each role. README.md beside this file
// says what to prepare. It was checked by a parser of Bicep, but never compiled by Bicep, and never deployed.

@description('Name of the storage account, unique in Azure: 3 to 24 lower-case letters and digits.')
@minLength(3)
@maxLength(24)
param account string{{if ne .Account "ACCOUNT"}} = '{{.Account}}'{{end}}

@description('Region of everything.')
param location string = resourceGroup().location

@description('Redundancy of the storage account.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param redundancy string = 'Standard_ZRS'

@description('Container image of furrow.')
param image string = '{{.Image}}'

@description('Login server of the registry of the image, if it lets in the identities of the apps; empty: anybody.')
param registry string = ''

@description('Key that seals the keys of enrollments: 32 random bytes in base64. Without it no device gets a token.')
@secure()
param masterKey string

@description('Whether the keys of the account may be used. If not, enrollments need --revocation at-expiry.')
param accountKeys bool = true

@description('Most workers at a time.')
@minValue(1)
@maxValue(300)
param maxWorkers int = 16

// The queues that workers drain, and how many messages of each one worker takes at a time.
var queues = [
{{- range .Queues}}
  { name: '{{.Name}}', length: '{{.Length}}' }
{{- end}}
]

// Azure's built-in roles. learn.microsoft.com: "Azure built-in roles".
var tableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var tableDelegator = '965033a5-c8eb-4f35-b82f-fef460a3606d'
var queueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var blobDataReader = '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
var keyVaultSecretsUser = '4633458b-17de-408a-b874-0445c86b69e6'

resource storage 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: account
  location: location
  kind: 'StorageV2'
  sku: { name: redundancy }
  properties: {
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    allowBlobPublicAccess: false
    allowSharedKeyAccess: accountKeys // to sign the tokens of devices and to change stored access policies
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: storage
  name: 'default'
}

resource archive 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = {
  parent: blobs
  name: '{{.Archive}}'
}

// An identity for each app, so that none may do what another one needs.
var apps = ['sas', 'schedule', 'worker', 'dashboard']

resource identities 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = [
  for app in apps: {
    name: 'furrow-${app}'
    location: location
  }
]

// With account keys, the endpoint has no role on the account: it signs in with the key that it needs to sign tokens.
// Without them, it signs tokens with a user delegation key.
var rolesOfEndpoint = accountKeys ? [] : [
  { app: 0, role: tableDataContributor } // sas reads enrollments, and writes records of devices
  { app: 0, role: tableDelegator } // and gets user delegation keys
]

var rolesOnAccount = [
  { app: 1, role: tableDataContributor } // schedule creates tables and inserts runs
  { app: 1, role: queueDataContributor } // and creates queues and puts the first job of a run
  { app: 2, role: tableDataContributor } // worker
  { app: 2, role: queueDataContributor } // also for the rules that scale it
  { app: 3, role: tableDataContributor } // dashboard reads, and writes what people do and who did it
  { app: 3, role: queueDataContributor } // and puts poison messages back into their queue
]

// 2022-04-01 is the newest version of role assignments.
resource onAccount 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for r in concat(rolesOfEndpoint, rolesOnAccount): {
    name: guid(storage.id, apps[r.app], r.role)
    scope: storage
    properties: {
      principalId: identities[r.app].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', r.role)
    }
  }
]

// Of blobs, apps reach the archive alone: the dashboard sends its files to those who may read them.
var rolesOnArchive = [
  { app: 1, role: blobDataContributor }
  { app: 2, role: blobDataContributor }
  { app: 3, role: blobDataReader }
]

resource onArchive 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for r in rolesOnArchive: {
    name: guid(archive.id, apps[r.app], r.role)
    scope: archive
    properties: {
      principalId: identities[r.app].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', r.role)
    }
  }
]

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: 'furrow-${uniqueString(storage.id)}'
  location: location
  properties: {
    tenantId: subscription().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enablePurgeProtection: true
  }
}

resource sealingKey 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = {
  parent: vault
  name: 'master-key'
  properties: { value: masterKey }
}

resource connection 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (accountKeys) {
  parent: vault
  name: 'storage-connection'
  properties: {
    value: join([
      'DefaultEndpointsProtocol=https'
      'AccountName=${storage.name}'
      'AccountKey=${storage.listKeys().keys[0].value}'
      'EndpointSuffix=${environment().suffixes.storage}'
    ], ';')
  }
}

// Only the endpoint reads the secrets.
resource onSecrets 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(vault.id, apps[0], keyVaultSecretsUser)
  scope: vault
  properties: {
    principalId: identities[0].properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', keyVaultSecretsUser)
  }
}

resource logs 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: 'furrow'
  location: location
  properties: { sku: { name: 'PerGB2018' }, retentionInDays: 30 }
}

resource host 'Microsoft.App/managedEnvironments@2025-07-01' = {
  name: 'furrow'
  location: location
  properties: {
    appLogsConfiguration: {
      destination: 'log-analytics'
      logAnalyticsConfiguration: {
        customerId: logs.properties.customerId
        sharedKey: logs.listKeys().primarySharedKey
      }
    }
  }
}

// Every app but the endpoint of an account with keys signs in with its identity.
var tableService = storage.properties.primaryEndpoints.table

var secrets = '${vault.properties.vaultUri}secrets' // that of the connection may not exist

module sas 'app.bicep' = {
  name: 'furrow-sas'
  dependsOn: [onAccount, onSecrets, connection]
  params: {
    role: 'sas'
    location: location
    host: host.id
    image: image
    registry: registry
    identity: identities[0].id
    client: identities[0].properties.clientId
    args: ['--listen', ':10080', '--behind-proxy']
    port: 10080
    storage: accountKeys ? '' : tableService
    secrets: concat(
      accountKeys
        ? [{ name: 'storage-connection', variable: 'FURROW_STORAGE', url: '${secrets}/storage-connection' }]
        : [],
      [{ name: 'master-key', variable: 'FURROW_MASTER_KEY', url: sealingKey.properties.secretUri }]
    )
    scale: {
      minReplicas: 2
      maxReplicas: 8
      rules: [{ name: 'requests', http: { metadata: { concurrentRequests: '200' } } }]
    }
  }
}

module schedule 'app.bicep' = {
  name: 'furrow-schedule'
  dependsOn: [onAccount, onArchive]
  params: {
    role: 'schedule'
    location: location
    host: host.id
    image: image
    registry: registry
    identity: identities[1].id
    client: identities[1].properties.clientId
    storage: tableService
    scale: { minReplicas: 1, maxReplicas: 1 } // of several, each run is started by one
  }
}

// KEDA counts the messages that workers hold, so that no worker is taken away while its jobs are many. One that is
// stopped gives its jobs back, and another one goes on.
module worker 'app.bicep' = {
  name: 'furrow-worker'
  dependsOn: [onAccount, onArchive]
  params: {
    role: 'worker'
    location: location
    host: host.id
    image: image
    registry: registry
    identity: identities[2].id
    client: identities[2].properties.clientId
    storage: tableService
    scale: {
      minReplicas: 0
      maxReplicas: maxWorkers
      pollingInterval: 10
      cooldownPeriod: 120
      rules: map(queues, q => {
        name: q.name
        custom: {
          type: 'azure-queue'
          identity: identities[2].id
          metadata: { accountName: account, queueName: q.name, queueLength: q.length }
        }
      })
    }
  }
}

module dashboard 'app.bicep' = {
  name: 'furrow-dashboard'
  dependsOn: [onAccount]
  params: {
    role: 'dashboard'
    location: location
    host: host.id
    image: image
    registry: registry
    identity: identities[3].id
    client: identities[3].properties.clientId
    storage: tableService
    args: ['--listen', ':10090', '--behind-proxy']
    port: 10090
    scale: { minReplicas: 1, maxReplicas: 1 } // people stay signed in to one process
  }
}

@description('Where devices get tokens.')
output endpoint string = 'https://${sas.outputs.fqdn}'

@description('Where people look.')
output dashboard string = 'https://${dashboard.outputs.fqdn}'
