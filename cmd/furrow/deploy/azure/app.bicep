// An app that runs one role of Furrow.

@description('A secret of the key vault, and the variable that holds it.')
type secret = {
  name: string
  variable: string
  url: string
}

@description('How many replicas there are, and by what; intervals are in seconds.')
type scaling = {
  minReplicas: int
  maxReplicas: int
  pollingInterval: int?
  cooldownPeriod: int?
  rules: object[]?
}

@allowed(['sas', 'schedule', 'worker', 'dashboard'])
param role string
param location string
param host string
param image string
param registry string

@description('Resource ID and client ID of the identity.')
param identity string
param client string

@description('URL of the Table service; empty: FURROW_STORAGE is among the secrets.')
param storage string = ''

@description('Flags besides those that all roles have.')
param args string[] = []

@description('Port that is reached from outside; 0: none.')
@minValue(0)
@maxValue(65535)
param port int = 0

@description('Secrets of the key vault, and the variables that hold them: name, variable, url.')
param secrets secret[] = []

param scale scaling

var plain = concat(
  [
    { name: 'AZURE_CLIENT_ID', value: client }
    { name: 'FURROW_NAMES_PREFIX', value: '{{.Prefix}}' }
  ],
  empty(storage) ? [] : [{ name: 'FURROW_STORAGE', value: storage }]
)

resource app 'Microsoft.App/containerApps@2025-07-01' = {
  name: 'furrow-${role}'
  location: location
  identity: { type: 'UserAssigned', userAssignedIdentities: { '${identity}': {} } }
  properties: {
    environmentId: host
    configuration: {
      ingress: port == 0 ? null : { external: true, targetPort: port, transport: 'http' }
      registries: empty(registry) ? [] : [{ server: registry, identity: identity }]
      secrets: map(secrets, s => { name: s.name, keyVaultUrl: s.url, identity: identity })
    }
    template: {
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: 'furrow'
          image: image
          args: concat([role, '--metrics', ':{{.Metrics}}'], args)
          env: concat(plain, map(secrets, s => { name: s.variable, secretRef: s.name }))
          resources: { cpu: json('0.5'), memory: '1Gi' }
          probes: [
            { type: 'Liveness', httpGet: { path: '/healthz', port: {{.Metrics}} }, periodSeconds: 10, timeoutSeconds: 5 }
            { type: 'Readiness', httpGet: { path: '/readyz', port: {{.Metrics}} }, periodSeconds: 10, timeoutSeconds: 6 }
          ]
        }
      ]
      scale: scale
    }
  }
}

output fqdn string = port == 0 ? '' : app.properties.configuration.ingress.fqdn
