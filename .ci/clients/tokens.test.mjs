// What a device can do with a token that furrow sas has issued, and what it cannot.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { AzureNamedKeyCredential, AzureSASCredential, TableClient } from '@azure/data-tables'
import { account, all, refused, serve } from './storage.mjs'

const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }
const skip = process.env.FURROW_TEST_STORAGE ? 'it needs storage that furrow serves from a directory' : false

// ticks is a row key for a time in milliseconds.
const ticks = ms => ((BigInt(ms) + 62135596800000n) * 10000n).toString().padStart(19, '0')

describe('tokens', { skip }, () => {
	let storage, sas, open, token
	const furrow = async (...args) => (await promisify(execFile)(process.env.FURROW, [...args, '--storage', storage.data])).stdout

	// ask is the endpoint's answer to a device that proves who it is.
	async function ask(device, endpoint = sas.screen.endpoint) {
		const key = Buffer.from((await furrow('device', 'key', device)).trim(), 'base64')
		const sr = encodeURIComponent(`plant1/registrations/${device}`), se = Math.floor(Date.now() / 1000) + 600
		const sig = encodeURIComponent(createHmac('sha256', key).update(`${sr}\n${se}`).digest('base64'))
		const answer = await fetch(`${endpoint}/v1/devices/${device}/token`, { method: 'POST', headers: { authorization: `SharedAccessSignature sr=${sr}&sig=${sig}&se=${se}` } })
		return { status: answer.status, ...await answer.json() }
	}
	const service = url => url.slice(0, url.lastIndexOf('/'))
	const client = (answer, { url = service(answer.url), table = 'readings', sas = answer.sas } = {}) =>
		new TableClient(url, table, new AzureSASCredential(sas), insecure)

	before(async () => {
		storage = await account({ listen: '0.0.0.0:0' })
		await furrow('enrollment', 'add', 'plant1', '--tenant', 'contoso')
		for (const device of ['pump-7', 'pump-8']) await furrow('device', 'add', device)
		sas = await serve(['sas', '--listen', '127.0.0.1:0', '--json', '--storage', storage.data])
		open = new TableClient(storage.table, 'readings', new AzureNamedKeyCredential(storage.name, storage.key), insecure)
		await open.createEntity({ partitionKey: 'pump-8', rowKey: ticks(1), v: 1 })
		token = await ask('pump-7')
		assert.equal(token.status, 200)
	})
	after(async () => {
		await sas?.close()
		await storage?.close()
	})

	test('add rows to the own partition, singly and in a transaction', async () => {
		const now = Date.now()
		await client(token).createEntity({ partitionKey: 'pump-7', rowKey: ticks(now), temperature: 21.5 })
		await client(token).submitTransaction([1, 2, 3].map(n => ['create', { partitionKey: 'pump-7', rowKey: ticks(now + n), temperature: n }]))
		assert.equal((await all(open.listEntities({ queryOptions: { filter: "PartitionKey eq 'pump-7'" } }))).length, 4)
	})

	const row = { partitionKey: 'pump-7', rowKey: ticks(Date.now() - 60_000), v: 1 }

	test('read, change and delete nothing', async () => {
		await client(token).createEntity(row)
		const attempts = {
			get: c => c.getEntity(row.partitionKey, row.rowKey),
			query: c => all(c.listEntities()),
			update: c => c.updateEntity({ ...row, v: 2 }, 'Replace'),
			merge: c => c.updateEntity({ ...row, v: 2 }, 'Merge'),
			delete: c => c.deleteEntity(row.partitionKey, row.rowKey),
			'upsert and replace': c => c.upsertEntity({ ...row, v: 2 }, 'Replace'),
			'upsert and merge': c => c.upsertEntity({ ...row, v: 2 }, 'Merge'),
			'update in a transaction': c => c.submitTransaction([['update', { ...row, v: 2 }]]),
			'delete in a transaction': c => c.submitTransaction([['delete', row]]),
		}
		for (const [name, attempt] of Object.entries(attempts)) {
			await assert.rejects(attempt(client(token)), e => e.statusCode === 403, name)
		}
		assert.equal((await open.getEntity(row.partitionKey, row.rowKey)).v, 1)
	})

	test('add nothing elsewhere', async () => {
		const now = Date.now()
		for (const partitionKey of ['pump-8', 'pump-70', 'pump', 'pump-', '']) {
			await assert.rejects(client(token).createEntity({ partitionKey, rowKey: ticks(now) }), e => e.statusCode === 403, `partition "${partitionKey}"`)
			await assert.rejects(client(token).submitTransaction([['create', { partitionKey, rowKey: ticks(now) }]]), e => e.statusCode === 403, `transaction in partition "${partitionKey}"`)
		}
		await assert.rejects(client(token).submitTransaction([['create', { partitionKey: 'pump-7', rowKey: ticks(now + 50) }], ['create', { partitionKey: 'pump-8', rowKey: ticks(now) }]]))
		for (const table of ['devices', 'fleet', 'policies', 'enrollments']) {
			await assert.rejects(client(token, { table }).createEntity({ partitionKey: 'pump-7', rowKey: ticks(now) }), e => e.statusCode === 403, `table ${table}`)
		}
		assert.deepEqual((await all(open.listEntities())).map(e => e.partitionKey).filter(pk => pk !== 'pump-7'), ['pump-8'])
	})

	test('add no row outside of their window', async () => {
		const { earliestRowKey: from, latestRowKey: to } = token
		const step = (key, n) => (BigInt(key) + n).toString().padStart(19, '0')
		for (const rowKey of [step(from, -1n), step(to, 1n), ticks(0), ticks(Date.now() + 366 * 86_400_000), `${to}-a`, 'a', '']) {
			await assert.rejects(client(token).createEntity({ partitionKey: 'pump-7', rowKey }), e => e.statusCode === 403, `row "${rowKey}"`)
		}
		await client(token).createEntity({ partitionKey: 'pump-7', rowKey: from })
		await client(token).createEntity({ partitionKey: 'pump-7', rowKey: to })
	})

	test('hold for nothing when they are altered', async () => {
		const now = Date.now()
		const members = new URLSearchParams(token.sas)
		const altered = { se: '2099-01-01T00:00:00Z', sp: 'raud', spk: 'pump-8', epk: 'pump-8', srk: ticks(0), erk: ticks(Date.now() + 1e12), tn: 'devices', spr: 'https', si: 'other', sig: Buffer.alloc(32).toString('base64') }
		let n = 0
		for (const [name, value] of Object.entries(altered)) {
			const other = new URLSearchParams(members)
			other.set(name, value)
			await assert.rejects(client(token, { sas: other.toString() }).createEntity({ partitionKey: 'pump-7', rowKey: ticks(now + ++n) }), e => e.statusCode === 403, name)
		}
		for (const name of members.keys()) {
			const other = new URLSearchParams(members)
			other.delete(name)
			await assert.rejects(client(token, { sas: other.toString() }).createEntity({ partitionKey: 'pump-7', rowKey: ticks(now + ++n) }), e => e.statusCode === (name === 'sig' ? 401 : 403), `without ${name}`)
		}
	})

	test('hold over plain HTTP on loopback alone', async t => {
		const others = Object.values(networkInterfaces()).flat().filter(i => i.family === 'IPv4' && !i.internal)
		if (others.length === 0) return t.skip('this machine has no other address')
		const url = service(token.url).replace('127.0.0.1', others[0].address)
		await assert.rejects(client(token, { url }).createEntity({ partitionKey: 'pump-7', rowKey: ticks(Date.now()) }), e => e.statusCode === 403)
	})

	test('that are for https are refused over plain HTTP', async () => {
		const other = await serve(['sas', '--listen', '127.0.0.1:0', '--json', '--storage', storage.data, '--table-url', 'https://tables.example/clients'])
		try {
			const answer = await ask('pump-7', other.screen.endpoint)
			assert.equal(answer.url, 'https://tables.example/clients/readings')
			await refused(client(token, { sas: answer.sas }).createEntity({ partitionKey: 'pump-7', rowKey: ticks(Date.now()) }), '403 AuthorizationProtocolMismatch')
		} finally {
			await other.close()
		}
	})

	test('end when their device is revoked, and are not given again', async () => {
		const mine = await ask('pump-8')
		await client(mine).createEntity({ partitionKey: 'pump-8', rowKey: ticks(Date.now()) })
		await furrow('device', 'revoke', 'pump-8')
		await assert.rejects(client(mine).createEntity({ partitionKey: 'pump-8', rowKey: ticks(Date.now()) }), e => e.statusCode === 403)
		const again = await ask('pump-8')
		assert.deepEqual([again.status, again.code], [403, 'revoked'])
		await furrow('device', 'restore', 'pump-8')
		const restored = await ask('pump-8')
		assert.equal(restored.status, 200)
		await client(restored).createEntity({ partitionKey: 'pump-8', rowKey: ticks(Date.now()) })
	})

	test('are for devices that prove who they are', async () => {
		const url = `${sas.screen.endpoint}/v1/devices/pump-7/token`
		for (const authorization of [undefined, 'Bearer x', 'SharedAccessSignature sr=a&sig=AAAA&se=1', 'SharedAccessSignature sr=plant1%2Fregistrations%2Fpump-7&sig=AAAA&se=99999999999']) {
			const answer = await fetch(url, { method: 'POST', headers: authorization ? { authorization } : {} })
			assert.equal(answer.status, 401, authorization)
			assert.match((await answer.json()).code, /^proof-/)
		}
	})
})
