import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { QueueClient, QueueSASPermissions, QueueServiceClient, StorageSharedKeyCredential, generateQueueSASQueryParameters } from '@azure/storage-queue'
import { account, all, refused, unique } from './storage.mjs'

const once = { retryOptions: { maxTries: 1 } }

let storage, credential, service
before(async () => {
	storage = await account()
	credential = new StorageSharedKeyCredential(storage.name, storage.key)
	service = new QueueServiceClient(storage.queue, credential, once)
})
after(() => storage.close())

// queue gives a client of a new queue, which is deleted after the test.
async function queue(t, options) {
	const client = service.getQueueClient(unique('q-'))
	await client.create(options)
	t.after(() => client.delete())
	return client
}

const texts = received => received.map(m => m.messageText)

describe('queues', () => {
	test('are created once, and deleted once', async () => {
		const client = service.getQueueClient(unique('q-'))
		assert.equal(await client.exists(), false)
		assert.equal((await client.create({ metadata: { a: '1' } }))._response.status, 201)
		assert.equal((await client.create({ metadata: { a: '1' } }))._response.status, 204) // the same again is fine
		await refused(client.create({ metadata: { a: '2' } }), '409 QueueAlreadyExists')
		assert.equal((await client.createIfNotExists()).succeeded, false)
		assert.equal(await client.exists(), true)
		await client.delete()
		await refused(client.delete(), '404 QueueNotFound')
		assert.equal((await client.deleteIfExists()).succeeded, false)
		await refused(client.sendMessage('x'), '404 QueueNotFound')
		await refused(client.receiveMessages(), '404 QueueNotFound')
		await refused(client.getProperties(), '404 QueueNotFound')
	})

	test('with bad names are refused', async () => {
		await refused(service.createQueue('ab'), '400 OutOfRangeInput')
		await refused(service.createQueue('Upper'), '400 InvalidResourceName')
		await refused(service.createQueue('two--hyphens'), '400 InvalidResourceName')
		await refused(service.createQueue('under_score'), '400 InvalidResourceName')
	})

	test('are listed by page and prefix, with metadata if asked', async t => {
		const prefix = unique('list-')
		const names = ['a', 'b', 'c'].map(end => `${prefix}-${end}`)
		for (const name of names) {
			await service.createQueue(name, { metadata: { purpose: `it's <${name}> & "more"` } })
			t.after(() => service.deleteQueue(name))
		}
		assert.deepEqual((await all(service.listQueues({ prefix }))).map(q => [q.name, q.metadata?.purpose]), names.map(name => [name, undefined]))
		const pages = await all(service.listQueues({ prefix, includeMetadata: true }).byPage({ maxPageSize: 2 }))
		assert.deepEqual(pages.map(page => page.queueItems.length), [2, 1])
		assert.deepEqual(pages.flatMap(page => page.queueItems).map(q => [q.name, q.metadata]), names.map(name => [name, { purpose: `it's <${name}> & "more"` }]))
		assert.deepEqual([pages[0].prefix, pages[0].maxPageSize, pages[1].continuationToken], [prefix, 2, ''])
		assert.deepEqual(await all(service.listQueues({ prefix: prefix + 'none' })), [])
	})

	test('have metadata and an approximate count', async t => {
		const client = await queue(t, { metadata: { one: '1' } })
		await client.sendMessage('x', { visibilityTimeout: 60 })
		await client.sendMessage('y')
		const properties = await client.getProperties()
		assert.deepEqual([properties.metadata, properties.approximateMessagesCount], [{ one: '1' }, 2])
		await client.setMetadata({ two: 'a=b; c', three: '3' })
		assert.deepEqual((await client.getProperties()).metadata, { two: 'a=b; c', three: '3' })
		await client.setMetadata()
		assert.deepEqual((await client.getProperties()).metadata, {})
	})

	test('have properties of their service, and statistics at its secondary endpoint', async t => {
		t.after(() => service.setProperties({ cors: [] }))
		const cors = [{ allowedOrigins: '*', allowedMethods: 'GET', allowedHeaders: '', exposedHeaders: '', maxAgeInSeconds: 0 }]
		await service.setProperties({ cors })
		await service.setProperties({ queueAnalyticsLogging: { version: '1.0', deleteProperty: true, read: false, write: false, retentionPolicy: { enabled: false } } })
		const after = await service.getProperties()
		assert.deepEqual([after.cors, after.queueAnalyticsLogging.deleteProperty], [cors, true])
		await refused(service.getStatistics(), '400 InvalidQueryParameterValue')
		assert.equal((await new QueueServiceClient(`${storage.queue}-secondary`, credential, once).getStatistics()).geoReplication.status, 'unavailable')
	})
})

describe('messages', () => {
	test('keep their text as it is', async t => {
		const client = await queue(t)
		const sent = ['plain', '', ' ', ' both ends ', '<a href="x">&amp;</a>', ']]>', '{"json":"it\'s \\"so\\""}', 'tab\t', 'ü 日本 😀', 'x'.repeat(65536), '&#x41;', '%20+']
		for (const text of sent) await client.sendMessage(text)
		const received = (await client.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems
		assert.deepEqual(texts(received), sent)
		await refused(client.sendMessage('x'.repeat(65537)), '413 RequestBodyTooLarge')
	})

	test('keep line ends, which the SDK reads but does not send', async t => {
		const client = await queue(t)
		const sas = generateQueueSASQueryParameters({ queueName: client.name, permissions: QueueSASPermissions.parse('a'), expiresOn: new Date(Date.now() + 600e3) }, credential)
		const body = '<QueueMessage><MessageText>one\ntwo\r\nthree&#10;four&#xD;&#xA;</MessageText></QueueMessage>'
		const put = await fetch(`${client.url}/messages?${sas}`, { method: 'POST', body })
		assert.equal(put.status, 201)
		const [read] = texts((await client.peekMessages()).peekedMessageItems)
		assert.equal(read.replaceAll('&#xD;', '\r'), 'one\ntwo\nthree\nfour\r\n') // the SDK resolves no character references
	})

	test('tell what is known of them', async t => {
		const client = await queue(t)
		const sent = await client.sendMessage('hello', { messageTimeToLive: -1 })
		assert.match(sent.messageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
		assert.equal(sent.expiresOn.toISOString(), '9999-12-31T23:59:59.000Z')
		assert.ok(Math.abs(sent.insertedOn - Date.now()) < 60e3 && sent.nextVisibleOn >= sent.insertedOn)
		const week = await client.sendMessage('default')
		assert.equal(week.expiresOn - week.insertedOn, 7 * 24 * 3600e3)
		const [peeked] = (await client.peekMessages()).peekedMessageItems
		assert.deepEqual([peeked.messageId, peeked.messageText, peeked.dequeueCount, peeked.insertedOn, peeked.expiresOn, peeked.popReceipt, peeked.nextVisibleOn],
			[sent.messageId, 'hello', 0, sent.insertedOn, sent.expiresOn, undefined, undefined])
		const [received] = (await client.receiveMessages({ visibilityTimeout: 100 })).receivedMessageItems
		assert.deepEqual([received.messageId, received.dequeueCount], [sent.messageId, 1])
		assert.notEqual(received.popReceipt, sent.popReceipt)
		assert.ok(Math.abs(received.nextVisibleOn - Date.now() - 100e3) < 10e3)
	})

	test('are given out up to 32 at a time, in order, to one client', async t => {
		const client = await queue(t)
		const sent = Array.from({ length: 40 }, (_, i) => String(i))
		for (const text of sent) await client.sendMessage(text)
		assert.deepEqual(texts((await client.peekMessages({ numberOfMessages: 32 })).peekedMessageItems), sent.slice(0, 32))
		assert.deepEqual(texts((await client.receiveMessages()).receivedMessageItems), ['0'])
		assert.deepEqual(texts((await client.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems), sent.slice(1, 33))
		assert.deepEqual(texts((await client.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems), sent.slice(33))
		assert.deepEqual((await client.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems, [])
		assert.deepEqual((await client.peekMessages({ numberOfMessages: 32 })).peekedMessageItems, [])
		await refused(client.receiveMessages({ numberOfMessages: 33 }), '400 OutOfRangeQueryParameterValue')
		await refused(client.receiveMessages({ numberOfMessages: 0 }), '400 OutOfRangeQueryParameterValue')
	})

	test('come when they are due, and go when they expire', async t => {
		const client = await queue(t)
		await client.sendMessage('late', { visibilityTimeout: 2 })
		await client.sendMessage('brief', { messageTimeToLive: 1 })
		const [brief] = (await client.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 1 })).receivedMessageItems
		assert.equal(brief.messageText, 'brief')
		for (let waited = 0, found = []; !found.includes('late'); waited++) {
			assert.ok(waited < 100, 'it did not come')
			await sleep(100)
			found = texts((await client.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems)
			assert.ok(!found.includes('brief'))
		}
		await refused(client.sendMessage('x', { messageTimeToLive: 0 }), '400 InvalidQueryParameterValue')
		await refused(client.sendMessage('x', { visibilityTimeout: 604801 }), '400 OutOfRangeQueryParameterValue')
		await refused(client.sendMessage('x', { messageTimeToLive: 10, visibilityTimeout: 10 }), '400 InvalidQueryParameterValue')
		await refused(client.receiveMessages({ visibilityTimeout: 0 }), '400 OutOfRangeQueryParameterValue')
	})

	test('are updated and deleted by the latest receipt only', async t => {
		const client = await queue(t)
		const sent = await client.sendMessage('first')
		const [received] = (await client.receiveMessages()).receivedMessageItems
		const updated = await client.updateMessage(sent.messageId, received.popReceipt, 'second <&>', 60)
		assert.ok(Math.abs(updated.nextVisibleOn - Date.now() - 60e3) < 10e3)
		await refused(client.updateMessage(sent.messageId, received.popReceipt, 'stale', 0), '400 PopReceiptMismatch')
		await refused(client.deleteMessage(sent.messageId, received.popReceipt), '400 PopReceiptMismatch')
		const again = await client.updateMessage(sent.messageId, updated.popReceipt, undefined, 0) // the text stays
		const [after] = (await client.receiveMessages()).receivedMessageItems
		assert.deepEqual([after.messageText, after.dequeueCount], ['second <&>', 2])
		await refused(client.deleteMessage(sent.messageId, again.popReceipt), '400 PopReceiptMismatch')
		await client.deleteMessage(sent.messageId, after.popReceipt)
		await refused(client.deleteMessage(sent.messageId, after.popReceipt), '404 MessageNotFound')
		await refused(client.updateMessage(sent.messageId, after.popReceipt, 'x', 0), '404 MessageNotFound')
		const put = await client.sendMessage('deleted by its sender')
		await client.deleteMessage(put.messageId, put.popReceipt)
	})

	test('are cleared', async t => {
		const client = await queue(t)
		for (const text of ['a', 'b']) await client.sendMessage(text)
		await client.receiveMessages()
		assert.equal((await client.clearMessages())._response.status, 204)
		assert.equal((await client.getProperties()).approximateMessagesCount, 0)
	})
})

describe('tokens and policies', () => {
	const soon = () => new Date(Date.now() + 600e3)
	const bearer = (client, values) => new QueueClient(`${client.url}?${generateQueueSASQueryParameters({ queueName: client.name, ...values }, credential)}`, undefined, once)

	test('a token does what its permissions allow', async t => {
		const client = await queue(t)
		const may = permissions => bearer(client, { permissions: QueueSASPermissions.parse(permissions), expiresOn: soon() })
		await may('a').sendMessage('x')
		await refused(may('rup').sendMessage('x'), '403 AuthorizationPermissionMismatch')
		await may('r').peekMessages()
		await may('r').getProperties()
		await refused(may('aup').peekMessages(), '403 AuthorizationPermissionMismatch')
		const [m] = (await may('p').receiveMessages()).receivedMessageItems
		await refused(may('rau').receiveMessages(), '403 AuthorizationPermissionMismatch')
		const { popReceipt } = await may('u').updateMessage(m.messageId, m.popReceipt, 'y', 10)
		await refused(may('rap').updateMessage(m.messageId, popReceipt, 'y', 10), '403 AuthorizationPermissionMismatch')
		await refused(may('rau').deleteMessage(m.messageId, popReceipt), '403 AuthorizationPermissionMismatch')
		await may('p').deleteMessage(m.messageId, popReceipt)
		await refused(bearer(client, { permissions: QueueSASPermissions.parse('r'), expiresOn: new Date(Date.now() - 60e3) }).peekMessages(), '403 AuthenticationFailed')
	})

	test('access policies are kept, and hold for the tokens that name them', async t => {
		const client = await queue(t)
		assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, [])
		const [startsOn, expiresOn] = [new Date(Math.floor(Date.now() / 1000) * 1000 - 600e3), new Date(Math.floor(Date.now() / 1000) * 1000 + 600e3)]
		await client.setAccessPolicy([{ id: 'peekers', accessPolicy: { startsOn, expiresOn, permissions: 'r' } }])
		assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, [{ id: 'peekers', accessPolicy: { startsOn, expiresOn, permissions: 'r' } }])
		const holder = bearer(client, { identifier: 'peekers' })
		await holder.peekMessages()
		await refused(holder.sendMessage('x'), '403 AuthorizationPermissionMismatch')
		await client.setAccessPolicy([])
		await refused(holder.peekMessages(), '403 AuthenticationFailed')
	})
})
