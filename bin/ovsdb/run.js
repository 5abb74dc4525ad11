/*
 * Runs one of the ovsdb programs: `run.js server|tool|client|appctl ARGUMENTS`. Installed, it loads
 * the compiled program; in a checkout it loads the sources. Plain old JavaScript, so that any Node
 * can parse it and at least say that it is too old. Compiled code is cached: these programs are
 * started in loops of shells, where every millisecond counts.
 */
/* biome-ignore-all lint/style/useNodejsImportProtocol: Nodes before 14.18 know no prefix */
'use strict';

var path = require('path');

var NODE_MAJOR_MIN = 24;
var found = process.versions.node;

if (parseInt(found, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(`roundelay needs Node ${NODE_MAJOR_MIN} or newer, this is Node ${found}\n`);
  process.exit(1);
}

var nodeModule = require('module');
if (nodeModule.enableCompileCache) nodeModule.enableCompileCache();

var root = path.dirname(path.dirname(__dirname));
var installed = __dirname.split(path.sep).indexOf('node_modules') !== -1;
var compiled = path.join(root, 'dist', 'cli', 'ovsdb');
var checkout = !installed && require('fs').existsSync(path.join(root, 'src', 'cli', 'main.ts'));
var folder = checkout ? path.join(root, 'src', 'cli', 'ovsdb') : compiled;
var name = process.argv[2];

require(path.join(folder, name + (checkout ? '.ts' : '.js')))
  .main(process.argv.slice(3))
  .then((exitCode) => {
    process.exit(exitCode);
  });
