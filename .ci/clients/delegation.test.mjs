// User delegation SAS: Azure's SDK gets a key and signs with it, and storage checks what it signed.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { QueueClient, QueueSASPermissions, QueueServiceClient, StorageSharedKeyCredential, generateQueueSASQueryParameters } from '@azure/storage-queue'
import { account, refused, unique } from './storage.mjs'

const once = { retryOptions: { maxTries: 1 } }
const skip = process.env.FURROW_TEST_STORAGE ? 'Azurite has no user delegation SAS of queues' : false
const inMinutes = n => new Date(Date.now() + n * 60e3)

describe('user delegation SAS', { skip }, () => {
	let storage, service, queue
	before(async () => {
		storage = await account()
		service = new QueueServiceClient(storage.queue, new StorageSharedKeyCredential(storage.name, storage.key), once)
		queue = service.getQueueClient(unique('q-'))
		await queue.create()
	})
	after(() => storage.close())

	const bearing = (key, terms) => new QueueClient(`${queue.url}?${generateQueueSASQueryParameters({ queueName: queue.name, permissions: QueueSASPermissions.parse('a'), expiresOn: inMinutes(5), ...terms }, key, storage.name)}`, undefined, once)

	test('permit what the SDK signed, until they or their key end', async () => {
		const key = await service.getUserDelegationKey(inMinutes(-5), inMinutes(60))
		await bearing(key).sendMessage('x')
		assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, 'x')
		await refused(bearing(key).receiveMessages(), '403 AuthorizationPermissionMismatch')
		await refused(bearing(key, { expiresOn: inMinutes(-1) }).sendMessage('x'), '403 AuthenticationFailed')
		await refused(bearing({ ...key, signedExpiresOn: inMinutes(120) }).sendMessage('x'), '403 AuthenticationFailed')
		await refused(bearing({ ...key, value: Buffer.alloc(32).toString('base64') }).sendMessage('x'), '403 AuthenticationFailed')
	})

	test('have a key for a week at most', async () => {
		await refused(service.getUserDelegationKey(inMinutes(0), inMinutes(8 * 24 * 60)), '400 InvalidXmlNodeValue')
	})
})
