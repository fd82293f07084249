// What programs import as `node:http`. An import of Node.js' own module reads all its properties, and some of them load a second
// HTTP client (undici): 35 ms of processor time at the start of each process, and 1 MB of its memory.
module.exports = process.getBuiltinModule('node:http');
