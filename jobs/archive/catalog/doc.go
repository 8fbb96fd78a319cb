// Package catalog knows which files make up the tables of an archive, now and at each version, and publishes that as
// the log of a Delta table (package delta). Files are put by others; what is in them is theirs to know.
//
// # Rows
//
// A table is a partition of one table of storage, whose key is a hash of tenant and table:
//
//	head               newest version, number of erasures, columns that the log has; stays when the table is removed
//	head!columns       number of c! rows
//	log                what of it is published, since when, and the newest checkpoint
//	c!NAME             a column of a sensor, or the one for all beyond MaxColumns, by its name in lower case; never freed
//	d!DATE!PARTITION   rows and watermark of a day and a partition of the fleet
//	f!DATE!NAME        a live file
//	p!NAME             a file that a job is about to put
//	r!VERSION!NAME     a file that left with a version, or with none (0): its blob is to be deleted
//	v!VERSION          what the version's file in the log says, to the byte; nothing for the first of a fresh log
//
// Another partition, tables, lists the tables of all tenants (t!TENANT!NAME), those that are no longer configured as
// well.
//
// # Why no reading is lost, doubled, or shown after its erasure
//
// Which files are live is changed by Commit alone: a transaction, so all of it happens or nothing. It has, each on the
// version that was read:
//
//	head      so versions are in an order without gaps, and no erasure has begun since Begin
//	d!        of every partition that the files which come or go have rows of: whoever else made that day has changed it
//	p!        of every new file, which is deleted: the file was neither committed before, nor given up
//	f! to r!  of every file that goes
//	v!        the finished bytes for the log
//
// A job reads with Begin what there is, then members, watermarks and rows, and commits. If two jobs make a day again,
// the second finds another d!, and begins again (ErrStale). If only head has moved, as it does with every commit of
// the tenant, nothing that the job has read has changed: the transaction alone is made again. Its random number is in
// v!, so that a try after a lost answer finds the version that it has made.
//
// Clean deletes a blob only if its name has an r! row and no f! row. A file comes into r! from p!,
// and then its commit fails, as p! is gone; or from f!, with the version that removed it, and then it is due a day
// after that was published: readers may still read what the log said. A blob is deleted a second time a day later, as
// a request to put it may have been on its way. A job that stands still for two days with a file to put, and is
// killed once it has put it, leaves a blob that no row knows: Verify finds it. For thirty days after an erasure,
// CleanLog compares the table's folder with the rows, and deletes such blobs. It lists the names first and reads the
// rows then, in the order in which a file goes through them: so it takes no file of a job for one of these.
//
// An erasure raises the epoch first. Whoever has begun before that fails, and whoever begins after it reads nothing
// of the device, because its readings are gone already. So what the erasure's passes find and remove is all that
// there is. Then it ends the earlier versions: it publishes the newest, has readers begin at a checkpoint of that,
// makes all files due that left before, and deletes what the log and v! have of earlier versions. A publisher that
// stood still may put one of these again; CleanLog deletes it whenever it comes.
//
// An example: a job makes the day again for late rows, and is suspended before its commit, at version 7. A device of
// that file is erased: the epoch is 1 now, p! of the job's file is in r!, version 8 has the other file without the
// device. The job goes on: head has another epoch. It begins again, and reads a day without the device. The blob that
// it has put meanwhile is deleted by Clean.
//
// # Removal
//
// RemoveEmpty has the head say that the table is removed, in the transaction that raises the epoch. It has seen no file
// before, and none has come, as each commit has the head on the version that was read. There is no commit from then on.
// All that the removal changes has the head in its
// transaction as well, so a machine that stood still with a removal changes nothing of a table that was made again. A
// table that is made again takes a version above all that the head has had, and above what was found in the folder; its
// transaction replaces log, so a publisher of the old table that goes on finds that changed. It may have put a version
// of the old table: that is below the new log, which begins with a checkpoint, and CleanLog deletes it. Columns go and
// come with the row that counts them, on the version that was read with the head: so none is taken for a table that
// has gone. The list of tables, which names the tenant, has the table for thirty days more, as it has to be cleaned.
//
// # Publishing
//
// Publish puts the bytes of v! as files of the log, in order, each only where there is none. So publishers need no
// lock, may be suspended anywhere, and may be of different releases. If a file is there with other bytes, somebody
// else writes into the log: then the table is published no more (ErrForeign), and what the catalog knows stays as it
// is.
//
// A checkpoint is made of f! and then r!, while they change: a file that moves meanwhile is seen in one of them or
// both. It has those that were added by its version and not removed by it. Where an erasure has begun meanwhile, it
// is thrown away.
//
// A maker that stands still before it puts its checkpoint, or before it points to it, goes on when there is a newer
// one, and CleanLog has deleted versions between the two. That misleads nobody. What its checkpoint says was true of
// its version, and no version has two contents. The pointer is moved forwards only, on the version that was read. A
// reader that finds no pointer lists the folder, and begins at the newest checkpoint, below which CleanLog stops. Who
// asks for a version between the two finds that versions are missing, as before. If an erasure has ended its version,
// CleanLog deletes the checkpoint, as it does with a version that a publisher puts late; until then it names files
// that are deleted.
//
// # A fresh log
//
// FreshLog takes the number of the new log's first version from head, above all that the folder has. The same
// transaction has log say that the log is foreign, so nobody publishes until the first version and its checkpoint are
// there; v! of that version has no bytes. Both files are made of f! and r! as a checkpoint is. So what is committed
// meanwhile is in later versions, which are published then. The first version removes the files that a reader finds in
// the old log, whoever has added them, as a reader that has it open goes on with the next number; where numbers are
// left out, it has to open the table again.
//
// A catalog that was restored does not know the versions since its backup. A reader may be at one of them, and would
// read the next as if it followed from that. A machine that stood still may put one, or a checkpoint with a pointer to
// it. So a fresh log leaves out ten thousand numbers, unless the catalog knows why it is needed: somebody else has
// written into the log. What such a machine puts is below the new log then. Its commit fails, if anything that it has
// read has changed since the backup. A live file may be missing: one that it had put since, or one that a request of
// Clean, on its way meanwhile, deletes. Verify finds both.
//
// If its maker is killed, the log stays foreign, and who repeats it takes another number. If its maker stands still
// and goes on after another has made one, its files are below the checkpoint of that, where nobody reads.
package catalog
