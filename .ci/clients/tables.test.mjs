import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient, TableTransaction, generateTableSas, odata } from '@azure/data-tables'
import { account, all, refused, unique } from './storage.mjs'

const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }

let storage, credential, service
before(async () => {
	storage = await account()
	credential = new AzureNamedKeyCredential(storage.name, storage.key)
	service = new TableServiceClient(storage.table, credential, insecure)
})
after(() => storage.close())

const tableClient = name => new TableClient(storage.table, name, credential, insecure)

// table gives a client of a new table, which is deleted after the test.
async function table(t) {
	const client = tableClient(unique('t'))
	await client.createTable()
	t.after(() => client.deleteTable())
	return client
}

describe('tables', () => {
	test('names are kept as created, and differ by more than case', async t => {
		const name = unique('Mixed')
		await service.createTable(name)
		t.after(() => service.deleteTable(name))
		await service.createTable(name.toUpperCase()) // the SDK takes "it exists" for done
		const listed = (await all(service.listTables())).map(item => item.name).filter(n => n.toLowerCase() === name.toLowerCase())
		assert.deepEqual(listed, [name])
		const lower = tableClient(name.toLowerCase())
		await lower.createEntity({ partitionKey: 'p', rowKey: 'r', v: 1 })
		assert.equal((await tableClient(name).getEntity('p', 'r')).v, 1)
	})

	test('are listed by page, and by filter', async t => {
		const prefix = unique('page')
		const names = ['a', 'b', 'c', 'd', 'e'].map(end => prefix + end)
		for (const name of names) {
			await service.createTable(name)
			t.after(() => service.deleteTable(name))
		}
		const queryOptions = { filter: odata`TableName ge ${prefix} and TableName lt ${prefix + 'z'}` }
		assert.deepEqual((await all(service.listTables({ queryOptions }))).map(item => item.name), names)
		const pages = await all(service.listTables({ queryOptions }).byPage({ maxPageSize: 2 }))
		assert.deepEqual(pages.map(page => page.length), [2, 2, 1])
		const first = await service.listTables({ queryOptions }).byPage({ maxPageSize: 2 }).next()
		const rest = await all(service.listTables({ queryOptions }).byPage({ maxPageSize: 2, continuationToken: first.value.continuationToken }))
		assert.deepEqual(rest.flat().map(item => item.name), names.slice(2))
	})

	test('that do not exist are refused by name', async () => {
		const client = tableClient(unique('none'))
		await client.deleteTable() // the SDK takes "it does not exist" for done
		await refused(client.getEntity('p', 'r'), '404 TableNotFound')
		await refused(client.createEntity({ partitionKey: 'p', rowKey: 'r' }), '404 TableNotFound')
		await refused(all(client.listEntities()), '404 TableNotFound')
		await refused(client.submitTransaction([['create', { partitionKey: 'p', rowKey: 'r' }]]), '404 TableNotFound')
		await refused(client.getAccessPolicy(), '404 TableNotFound')
	})

	test('with bad names are refused', async () => {
		await refused(service.createTable('ab'), '400 OutOfRangeInput')
		await refused(service.createTable('a'.repeat(64)), '400 OutOfRangeInput')
		await refused(service.createTable('with-hyphen'), '400 InvalidResourceName')
		await refused(service.createTable('1digit'), '400 InvalidResourceName')
	})

	test('have properties of their service, and statistics at its secondary endpoint', async t => {
		t.after(() => service.setProperties({ cors: [] }))
		const cors = [{ allowedOrigins: 'https://a.example', allowedMethods: 'GET,MERGE', allowedHeaders: 'x-ms-*', exposedHeaders: '*', maxAgeInSeconds: 5 }]
		await service.setProperties({ cors })
		await service.setProperties({ minuteMetrics: { version: '1.0', enabled: true, includeAPIs: false, retentionPolicy: { enabled: false } } })
		const after = await service.getProperties()
		assert.deepEqual([after.cors, after.minuteMetrics.enabled], [cors, true])
		await refused(service.getStatistics(), '400 InvalidQueryParameterValue')
		assert.equal((await new TableServiceClient(`${storage.table}-secondary`, credential, insecure).getStatistics()).geoReplication.status, 'unavailable')
	})
})

describe('entities', () => {
	test('keep every type', async t => {
		const client = await table(t)
		const sent = {
			partitionKey: 'p', rowKey: 'r',
			text: 'x', empty: '', yes: true, no: false,
			int32: 2147483647, negative: -2147483648, zero: 0,
			double: 1.5, whole: { type: 'Double', value: '3' }, tiny: 1e-300, huge: 1.7976931348623157e308,
			nan: { type: 'Double', value: 'NaN' }, infinite: { type: 'Double', value: 'Infinity' }, below: { type: 'Double', value: '-Infinity' },
			int64: 9223372036854775807n, least: { type: 'Int64', value: '-9223372036854775808' },
			guid: { type: 'Guid', value: 'A0B1C2D3-0000-4000-8000-0123456789AB' },
			date: new Date('2026-11-20T10:20:30.123Z'), ticks: { type: 'DateTime', value: '2026-11-20T10:20:30.1234567Z' }, first: { type: 'DateTime', value: '1601-01-01T00:00:00Z' },
			bytes: new Uint8Array([0, 1, 254, 255]), none: new Uint8Array(),
		}
		await client.createEntity(sent)
		const plain = await client.getEntity('p', 'r')
		assert.deepEqual({ ...plain, etag: undefined, timestamp: undefined, 'odata.metadata': undefined }, {
			'odata.metadata': undefined, etag: undefined, timestamp: undefined, partitionKey: 'p', rowKey: 'r',
			text: 'x', empty: '', yes: true, no: false, int32: 2147483647, negative: -2147483648, zero: 0,
			double: 1.5, whole: 3, tiny: 1e-300, huge: 1.7976931348623157e308, nan: 'NaN', infinite: 'Infinity', below: '-Infinity', // as the SDK has them
			int64: 9223372036854775807n, least: -9223372036854775808n,
			guid: { type: 'Guid', value: 'a0b1c2d3-0000-4000-8000-0123456789ab' },
			date: new Date('2026-11-20T10:20:30.123Z'), ticks: new Date('2026-11-20T10:20:30.123Z'), first: new Date('1601-01-01T00:00:00Z'),
			bytes: Buffer.from([0, 1, 254, 255]), none: Buffer.alloc(0),
		})
		const typed = await client.getEntity('p', 'r', { disableTypeConversion: true })
		assert.deepEqual(typed.ticks, { type: 'DateTime', value: '2026-11-20T10:20:30.1234567Z' })
		assert.deepEqual(typed.int64, { type: 'Int64', value: '9223372036854775807' })
		assert.match(typed.etag, /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/)
		assert.match(typed.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/)
	})

	test('have keys of any text', async t => {
		const client = await table(t)
		const keys = ['', ' ', 'a b', "it's", "''", '"', 'ü', '日本語', '😀', 'a+b', 'a&b=c', '100%', '%25', '%2F', 'a,b', '(x)', "PartitionKey='p'", '!*$@:;~', '<>', '{}[]|^`', 'a.b', '..']
		for (const key of keys) await client.createEntity({ partitionKey: key, rowKey: key, key })
		for (const key of keys) {
			const found = await client.getEntity(key, key)
			assert.deepEqual([found.partitionKey, found.rowKey, found.key], [key, key, key])
			const queried = await all(client.listEntities({ queryOptions: { filter: odata`PartitionKey eq ${key} and RowKey eq ${key}` } }))
			assert.deepEqual(queried.map(e => e.key), [key])
			await client.updateEntity({ partitionKey: key, rowKey: key, more: key }, 'Merge')
			assert.equal((await client.getEntity(key, key)).more, key)
			await client.submitTransaction([['upsert', { partitionKey: key, rowKey: key, last: key }, 'Merge']])
			assert.equal((await client.getEntity(key, key)).last, key)
			await client.deleteEntity(key, key)
			await refused(client.getEntity(key, key), '404 ResourceNotFound')
		}
	})

	test('refuse keys that Azure refuses', async t => {
		const client = await table(t)
		for (const key of ['a/b', 'a\\b', 'a#b', 'a?b', 'a\tb', 'a\u0085b']) {
			await refused(client.createEntity({ partitionKey: 'p', rowKey: key }), '400 OutOfRangeInput')
		}
		await refused(client.createEntity({ partitionKey: 'p', rowKey: 'k'.repeat(1025) }), '400 KeyValueTooLarge')
		await client.createEntity({ partitionKey: 'p', rowKey: 'k'.repeat(512) })
		await refused(client.createEntity({ partitionKey: 'p' }), '400 PropertiesNeedValue')
	})

	test('leave out what is null or undefined', async t => {
		const client = await table(t)
		await client.createEntity({ partitionKey: 'p', rowKey: 'r', null: null, undefined, kept: 'k' })
		const found = await client.getEntity('p', 'r')
		assert.deepEqual(['null' in found, 'undefined' in found, found.kept], [false, false, 'k'])
		await client.updateEntity({ partitionKey: 'p', rowKey: 'r', kept: null, other: 1 }, 'Merge')
		const merged = await client.getEntity('p', 'r')
		assert.deepEqual([merged.kept, merged.other], ['k', 1]) // a merge with null leaves the property
	})

	test('keep text as it is', async t => {
		const client = await table(t)
		const text = '<a href="x">&amp; \\ / \b\f\n\r\t \u0000\u001f\u007f\u2028 ü 日本 😀 "q" \'s\''
		await client.createEntity({ partitionKey: 'p', rowKey: 'r', text, _1: 'u', Größe: 3 })
		const found = await client.getEntity('p', 'r')
		assert.deepEqual([found.text, found._1, found.Größe], [text, 'u', 3])
	})

	test('are inserted once, and updated only where they are', async t => {
		const client = await table(t)
		const entity = { partitionKey: 'p', rowKey: 'r', a: 1, b: 2 }
		const { etag } = await client.createEntity(entity)
		assert.equal((await client.getEntity('p', 'r')).etag, etag)
		await refused(client.createEntity(entity), '409 EntityAlreadyExists')
		await refused(client.updateEntity({ partitionKey: 'p', rowKey: 'other' }, 'Replace'), '404 ResourceNotFound')
		await refused(client.updateEntity({ partitionKey: 'p', rowKey: 'other' }, 'Merge'), '404 ResourceNotFound')
		await refused(client.deleteEntity('p', 'other'), '404 ResourceNotFound')
		const merged = await client.updateEntity({ partitionKey: 'p', rowKey: 'r', b: 3, c: 4 }, 'Merge', { etag })
		assert.notEqual(merged.etag, etag)
		const found = await client.getEntity('p', 'r')
		assert.deepEqual([found.a, found.b, found.c, found.etag], [1, 3, 4, merged.etag])
		await refused(client.updateEntity({ partitionKey: 'p', rowKey: 'r', d: 1 }, 'Replace', { etag }), '412 UpdateConditionNotSatisfied')
		await refused(client.deleteEntity('p', 'r', { etag }), '412 UpdateConditionNotSatisfied')
		const replaced = await client.updateEntity({ partitionKey: 'p', rowKey: 'r', d: 1 }, 'Replace', { etag: merged.etag })
		const now = await client.getEntity('p', 'r')
		assert.deepEqual([now.a, now.d], [undefined, 1])
		await client.deleteEntity('p', 'r', { etag: replaced.etag })
	})

	test('are upserted whether they are there or not', async t => {
		const client = await table(t)
		await client.upsertEntity({ partitionKey: 'p', rowKey: 'r', a: 1 }, 'Merge')
		await client.upsertEntity({ partitionKey: 'p', rowKey: 'r', b: 2 }, 'Merge')
		const merged = await client.getEntity('p', 'r')
		assert.deepEqual([merged.a, merged.b], [1, 2])
		await client.upsertEntity({ partitionKey: 'p', rowKey: 'r', c: 3 }, 'Replace')
		const replaced = await client.getEntity('p', 'r')
		assert.deepEqual([replaced.a, replaced.b, replaced.c], [undefined, undefined, 3])
	})

	test('have limits of size', async t => {
		const client = await table(t)
		const at = value => ({ partitionKey: 'p', rowKey: 'r', value })
		await client.upsertEntity(at('x'.repeat(32768)))
		await refused(client.upsertEntity(at('x'.repeat(32769))), '400 PropertyValueTooLarge')
		await client.upsertEntity(at(new Uint8Array(65536)))
		await refused(client.upsertEntity(at(new Uint8Array(65537))), '400 PropertyValueTooLarge')
		const many = n => Object.fromEntries([['partitionKey', 'p'], ['rowKey', 'many'], ...Array.from({ length: n }, (_, i) => ['p' + i, i])])
		await client.upsertEntity(many(252))
		await refused(client.upsertEntity(many(253)), '400 TooManyProperties')
		const large = Object.fromEntries(Array.from({ length: 17 }, (_, i) => ['p' + i, new Uint8Array(65536)]))
		await refused(client.upsertEntity({ partitionKey: 'p', rowKey: 'large', ...large }), '400 EntityTooLarge')
	})

	test('are filtered by every type', async t => {
		const client = await table(t)
		await client.submitTransaction(Array.from({ length: 10 }, (_, i) => ['create', {
			partitionKey: 'p', rowKey: 'r' + i, n: i, long: BigInt(i) << 40n, half: i + 0.5, even: i % 2 === 0, text: `it's ${i}`,
			at: new Date(Date.UTC(2026, 10, 20, i)), id: { type: 'Guid', value: `0000000${i}-0000-4000-8000-000000000000` }, raw: new Uint8Array([i, 255]),
		}]))
		const rows = async filter => (await all(client.listEntities({ queryOptions: { filter } }))).map(e => e.rowKey).join(' ')
		assert.equal(await rows(odata`n gt ${6}`), 'r7 r8 r9')
		assert.equal(await rows(odata`n ge ${3} and n lt ${5} or n eq ${9}`), 'r3 r4 r9')
		assert.equal(await rows(odata`long ge ${8n << 40n}`), 'r8 r9')
		assert.equal(await rows('long eq 1099511627776L'), 'r1')
		assert.equal(await rows(odata`half lt ${1.75}`), 'r0 r1')
		assert.equal(await rows(odata`even eq ${true} and n le ${4}`), 'r0 r2 r4')
		assert.equal(await rows('not even and n le 4'), 'r1 r3')
		assert.equal(await rows('not (n lt 8)'), 'r8 r9')
		assert.equal(await rows(odata`text eq ${"it's 4"}`), 'r4')
		assert.equal(await rows(odata`at ge ${new Date(Date.UTC(2026, 10, 20, 8))}`), 'r8 r9')
		assert.equal(await rows("id eq guid'00000005-0000-4000-8000-000000000000'"), 'r5')
		assert.equal(await rows("raw eq X'05ff'"), 'r5')
		assert.equal(await rows("raw eq binary'05ff'"), 'r5')
		assert.equal(await rows("RowKey ge 'r2' and RowKey lt 'r4'"), 'r2 r3')
		assert.equal(await rows("PartitionKey ne 'p'"), '')
		assert.equal(await rows("Timestamp ge datetime'2020-01-01T00:00:00Z' and n eq 0"), 'r0')
		await refused(rows('n gt'), '400 InvalidInput')
		await refused(rows("text eq 'open"), '400 InvalidInput')
		await refused(rows('n gt 1 xor n lt 2'), '400 InvalidInput')
	})

	test('are selected by property, what is missing as null', async t => {
		const client = await table(t)
		await client.createEntity({ partitionKey: 'p', rowKey: 'r1', a: 1, b: 2, big: 5n })
		await client.createEntity({ partitionKey: 'p', rowKey: 'r2', b: 3 })
		const rows = await all(client.listEntities({ queryOptions: { select: ['rowKey', 'a', 'big'] } }))
		assert.deepEqual(rows.map(e => [e.partitionKey, e.rowKey, e.a ?? null, e.b, e.big ?? null]),
			[[undefined, 'r1', 1, undefined, 5n], [undefined, 'r2', null, undefined, null]])
		const one = await client.getEntity('p', 'r1', { queryOptions: { select: ['b'] } })
		assert.deepEqual([one.a, one.b, one.rowKey], [undefined, 2, undefined])
	})

	test('come in pages that go on where the last one ended', async t => {
		const client = await table(t)
		for (const p of ['a', 'b', "c'&+ ü"]) {
			await client.submitTransaction(Array.from({ length: 50 }, (_, i) => ['create', { partitionKey: p, rowKey: String(i).padStart(3, '0') }]))
		}
		const pages = await all(client.listEntities().byPage({ maxPageSize: 40 }))
		assert.deepEqual(pages.map(page => page.length), [40, 40, 40, 30])
		assert.equal(new Set(pages.flat().map(e => e.partitionKey + e.rowKey)).size, 150)
		const first = await client.listEntities().byPage({ maxPageSize: 120 }).next()
		const rest = await all(client.listEntities().byPage({ maxPageSize: 120, continuationToken: first.value.continuationToken }))
		assert.deepEqual(rest.flat().map(e => e.partitionKey + e.rowKey).at(0), "c'&+ ü020")
		assert.equal(rest.flat().length, 30)
	})
})

describe('transactions', () => {
	test('are done as a whole, and answer each operation', async t => {
		const client = await table(t)
		await client.createEntity({ partitionKey: 'p', rowKey: 'merged', a: 1 })
		await client.createEntity({ partitionKey: 'p', rowKey: 'replaced', a: 1 })
		const { etag } = await client.createEntity({ partitionKey: 'p', rowKey: 'deleted' })
		const transaction = new TableTransaction()
		transaction.createEntity({ partitionKey: 'p', rowKey: 'created', text: "it's ü\r\n--x" })
		transaction.updateEntity({ partitionKey: 'p', rowKey: 'merged', b: 2 }, 'Merge')
		transaction.updateEntity({ partitionKey: 'p', rowKey: 'replaced', b: 2 }, 'Replace')
		transaction.upsertEntity({ partitionKey: 'p', rowKey: 'upserted', n: 5n }, 'Replace')
		transaction.deleteEntity('p', 'deleted', { etag })
		const answer = await client.submitTransaction(transaction.actions)
		assert.equal(answer.status, 202)
		assert.deepEqual(answer.subResponses.map(r => r.status), [204, 204, 204, 204, 204])
		assert.equal(answer.getResponseForEntity('created').etag, (await client.getEntity('p', 'created')).etag)
		assert.equal((await client.getEntity('p', 'created')).text, "it's ü\r\n--x")
		const merged = await client.getEntity('p', 'merged')
		assert.deepEqual([merged.a, merged.b], [1, 2])
		const replaced = await client.getEntity('p', 'replaced')
		assert.deepEqual([replaced.a, replaced.b], [undefined, 2])
		assert.equal((await client.getEntity('p', 'upserted')).n, 5n)
		await refused(client.getEntity('p', 'deleted'), '404 ResourceNotFound')
	})

	test('that fail do nothing, and name the operation', async t => {
		const client = await table(t)
		await client.createEntity({ partitionKey: 'p', rowKey: 'there' })
		const create = rowKey => ['create', { partitionKey: 'p', rowKey }]
		const fails = async (want, index, actions) => {
			const error = await refused(client.submitTransaction(actions), want)
			assert.match(error.message, new RegExp(`^${index}:`))
		}
		await fails('409 EntityAlreadyExists', 2, [create('a'), create('b'), create('there'), create('c')])
		await fails('404 ResourceNotFound', 1, [create('a'), ['update', { partitionKey: 'p', rowKey: 'none' }, 'Merge']])
		await fails('404 ResourceNotFound', 1, [create('a'), ['delete', { partitionKey: 'p', rowKey: 'none' }]])
		await fails('412 UpdateConditionNotSatisfied', 0, [['update', { partitionKey: 'p', rowKey: 'there', x: 1 }, 'Replace', { etag: `W/"datetime'2020-01-01T00%3A00%3A00Z'"` }]])
		await fails('400 InvalidDuplicateRow', 1, [create('a'), ['upsert', { partitionKey: 'p', rowKey: 'a' }]])
		await fails('400 PropertyValueTooLarge', 1, [create('a'), ['create', { partitionKey: 'p', rowKey: 'b', x: 'x'.repeat(40000) }]])
		assert.deepEqual((await all(client.listEntities())).map(e => e.rowKey), ['there'])
	})

	test('have at most 100 operations', async t => {
		const client = await table(t)
		const actions = n => Array.from({ length: n }, (_, i) => ['upsert', { partitionKey: 'p', rowKey: 'r' + i, i }])
		assert.equal((await client.submitTransaction(actions(100))).subResponses.length, 100)
		const error = await client.submitTransaction(actions(101)).then(() => assert.fail('done'), e => e)
		assert.equal(error.details?.odataError?.code ?? error.code, 'InvalidInput')
	})
})

describe('tokens and policies', () => {
	const soon = () => new Date(Date.now() + 600e3)
	const bearer = (client, sas) => new TableClient(storage.table, client.tableName, new AzureSASCredential(sas), insecure)

	test('a token does what its permissions and keys allow', async t => {
		const client = await table(t)
		for (const partitionKey of ['a', 'b', 'c']) for (const rowKey of ['1', '2', '3']) await client.createEntity({ partitionKey, rowKey })
		const sas = generateTableSas(client.tableName, credential, {
			permissions: { query: true, add: true }, expiresOn: soon(),
			startPartitionKey: 'a', startRowKey: '2', endPartitionKey: 'b', endRowKey: '2',
		})
		const holder = bearer(client, sas)
		assert.deepEqual((await all(holder.listEntities())).map(e => e.partitionKey + e.rowKey), ['a2', 'a3', 'b1', 'b2'])
		await holder.createEntity({ partitionKey: 'a', rowKey: '9' })
		await refused(holder.createEntity({ partitionKey: 'a', rowKey: '1' }), '403 AuthorizationFailure')
		await refused(holder.createEntity({ partitionKey: 'c', rowKey: '1' }), '403 AuthorizationFailure')
		await refused(holder.updateEntity({ partitionKey: 'a', rowKey: '9' }), '403 AuthorizationPermissionMismatch')
		await refused(holder.upsertEntity({ partitionKey: 'a', rowKey: '9' }), '403 AuthorizationPermissionMismatch')
		await refused(holder.deleteEntity('a', '9'), '403 AuthorizationPermissionMismatch')
		await holder.submitTransaction([['create', { partitionKey: 'a', rowKey: '91' }], ['create', { partitionKey: 'a', rowKey: '92' }]])
	})

	test('a token has its time and its table', async t => {
		const [one, other] = [await table(t), await table(t)]
		const permissions = { query: true }
		await refused(all(bearer(one, generateTableSas(one.tableName, credential, { permissions, expiresOn: new Date(Date.now() - 60e3) })).listEntities()), '403 AuthenticationFailed')
		await refused(all(bearer(one, generateTableSas(one.tableName, credential, { permissions, startsOn: soon(), expiresOn: new Date(Date.now() + 900e3) })).listEntities()), '403 AuthenticationFailed')
		await refused(all(bearer(other, generateTableSas(one.tableName, credential, { permissions, expiresOn: soon() })).listEntities()), '403 AuthenticationFailed')
		const stranger = new AzureNamedKeyCredential(storage.name, Buffer.alloc(64).toString('base64'))
		await refused(all(bearer(one, generateTableSas(one.tableName, stranger, { permissions, expiresOn: soon() })).listEntities()), '403 AuthenticationFailed')
		await refused(all(new TableClient(storage.table, one.tableName, stranger, insecure).listEntities()), '403 AuthenticationFailed')
	})

	test('access policies are kept, and hold for the tokens that name them', async t => {
		const client = await table(t)
		assert.deepEqual([...await client.getAccessPolicy()], [])
		const [start, expiry] = [new Date(Math.floor(Date.now() / 1000) * 1000 - 600e3), new Date(Math.floor(Date.now() / 1000) * 1000 + 600e3)]
		await client.setAccessPolicy([{ id: 'readers & <co>', accessPolicy: { start, expiry, permission: 'r' } }, { id: 'bare' }])
		const kept = [...await client.getAccessPolicy()]
		assert.deepEqual(kept.map(p => [p.id, p.accessPolicy?.start?.getTime(), p.accessPolicy?.expiry?.getTime(), p.accessPolicy?.permission]),
			[['readers & <co>', start.getTime(), expiry.getTime(), 'r'], ['bare', undefined, undefined, undefined]])
		const sas = generateTableSas(client.tableName, credential, { identifier: 'readers & <co>', permissions: undefined, expiresOn: undefined })
		const holder = bearer(client, sas)
		assert.deepEqual(await all(holder.listEntities()), [])
		await refused(holder.createEntity({ partitionKey: 'p', rowKey: 'r' }), '403 AuthorizationPermissionMismatch')
		await client.setAccessPolicy([])
		await refused(all(holder.listEntities()), '403 AuthenticationFailed')
		const six = Array.from({ length: 6 }, (_, i) => ({ id: 'p' + i, accessPolicy: { start, expiry, permission: 'r' } }))
		await refused(client.setAccessPolicy(six), '400 InvalidXmlDocument')
	})
})
