#!/usr/bin/env node
/*
 * The program's front door. It is plain old JavaScript (and CommonJS, by the package.json beside
 * it), so that any Node can parse it and at least say what is wrong. Installed, it loads the
 * compiled program; in a checkout it loads the sources, and where the running Node is too old it
 * hands over to the one that `npm ci` brought: same arguments, same standard streams, signals and
 * exit code passed on. The child ends when this process does, even by kill -9: it watches a pipe.
 */
/* biome-ignore-all lint/style/useNodejsImportProtocol: Nodes before 14.18 know no prefix */
'use strict';

var fs = require('fs');
var path = require('path');

var NODE_MAJOR_MIN = 24;
/* The same number as `nodeTooOld` in src/cli/exit-codes.ts, which no old Node could load. */
var EXIT_NODE_TOO_OLD = 3;
var PARENT_PIPE = 'ROUNDELAY_PARENT_PIPE';
/* As it was typed, for hints; those whom this process starts give the same. */
var CALLED = 'ROUNDELAY_CALLED';

var root = path.dirname(__dirname);
var source = path.join(root, 'src', 'cli', 'main.ts');
var checkout = __dirname.split(path.sep).indexOf('node_modules') === -1 && fs.existsSync(source);

if (parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) run();
else handOver();

function run() {
  var nodeModule = require('module');
  if (nodeModule.enableCompileCache) nodeModule.enableCompileCache();
  if (process.env[PARENT_PIPE]) watchParent(Number(process.env[PARENT_PIPE]));
  if (!process.env[CALLED]) process.env[CALLED] = process.argv[1];
  require(checkout ? source : path.join(root, 'dist', 'cli', 'main.js'));
}

/* The other end of the pipe is held by the parent alone; it closes when the parent is gone. */
function watchParent(descriptor) {
  var net = require('net');
  delete process.env[PARENT_PIPE];
  var pipe = new net.Socket({ fd: descriptor, readable: true, writable: false });
  pipe.on('error', () => {});
  pipe.on('close', () => {
    setTimeout(() => {
      process.exit(143);
    }, 2000).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  pipe.resume();
  pipe.unref();
}

function handOver() {
  var newer = path.join(root, 'node_modules', '.bin', 'node');
  if (!checkout || !fs.existsSync(newer) || process.env[PARENT_PIPE]) return refuse();
  var environment = Object.assign({}, process.env);
  environment[PARENT_PIPE] = '3';
  environment[CALLED] = environment[CALLED] || process.argv[1];
  var child = require('child_process').spawn(newer, [__filename].concat(process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: environment,
  });
  var signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
  signals.forEach((signal) => {
    process.on(signal, () => {
      child.kill(signal);
    });
  });
  child.on('error', (error) => {
    process.stderr.write(`error: cannot run ${newer}: ${error.code}; run: npm ci\n`);
    process.exit(EXIT_NODE_TOO_OLD);
  });
  child.on('exit', (code, signal) => {
    if (typeof signal !== 'string') return process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    /* A signal that this process ignores. */
    setTimeout(() => {
      process.exit(1);
    }, 100);
  });
}

function refuse() {
  var way = checkout
    ? `run "npm ci" in ${root}, which brings one`
    : 'install a newer one from https://nodejs.org';
  var found = process.versions.node;
  var wanted = `roundelay needs Node ${NODE_MAJOR_MIN} or newer, this is Node ${found}`;
  process.stderr.write(`error: ${wanted}; ${way}\n`);
  process.exit(EXIT_NODE_TOO_OLD);
}
