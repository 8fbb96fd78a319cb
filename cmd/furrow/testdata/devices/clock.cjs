// Sets the clock of a Node process back by years. OpenSSL does not use it.
const now = Date.now;
Date.now = () => now() - 1000 * process.env.CLOCK_BEHIND;
