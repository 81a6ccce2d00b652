// SPDX-License-Identifier: Apache-2.0
//
// A program whose JavaScript stacks are known.
//
//	node v8stacks.js DIR MS
//
// Writes to DIR a module for each mode, in which a function drive_MODE calls top_MODE, that
// mid_MODE and that low_MODE, which burns; loads it and drives it for MS of CPU time,
// and garbage is made all the time, so that functions move. Functions are too large to be
// inlined. Prints for each function a line: its name, file and line, tab-separated.
'use strict';
const fs = require('fs');
const path = require('path');
const { Worker, isMainThread, workerData } = require('worker_threads');

const large = (count) => '\tx = (x * 31 + n) | 0; x ^= x >> 3; x = (x + 17) | 0;\n'.repeat(count);
const burn = '\tfor (let i = 0; i < 200; i++) {\n' + large(30) + '\t}\n\treturn x;\n';

// How mid_MODE calls what burns; `low` is its definition by name and parameters.
const modes = {
	plain: { call: 'low_plain(n)' },
	sorted: { call: '[n, 1].sort(low_sorted)[0]' },
	reviver: { call: 'JSON.parse("[1]", low_reviver)' },
	method: { call: 'new Burner().low_method(n)', before: 'class Burner {\n', after: '}\n', method: true },
	closure: { call: 'make()(n)', before: 'function make() {\nlet own = {};\nreturn ', after: '}\n' },
	generator: { call: '[...low_generator(n)]', generator: true },
	assigned: { call: 'exports.low_assigned(n)', before: 'exports.low_assigned = ' },
	'ünïcode': { call: 'low_ünïcode(n)' },
};

function source(mode, m) {
	const head = m.method ? '' : m.generator ? 'function* ' : 'function ';
	const name = mode === 'assigned' ? '' : `low_${mode}`;
	const low = `${m.before || ''}${head}${name}(n) {\n\tlet x = 1;\n${burn}}\n${m.after || ''}`;
	const mid = `function mid_${mode}(n) {\n\tlet x = 2;\n${large(30)}\tx = ${m.call};\n\treturn x;\n}\n`;
	const top = `function top_${mode}(n) {\n\tlet x = 3;\n${large(30)}\tx = mid_${mode}(n);\n\treturn x;\n}\n`;
	const drive = `exports.drive = function drive_${mode}(n) {\n` +
		'\tconst garbage = [];\n' +
		`\tfor (let i = 0; i < 20; i++)\n\t\tgarbage.push({ i, x: top_${mode}(n + i), f: () => i });\n` +
		'\treturn garbage;\n};\n';
	return low + mid + top + drive;
}

function write(mode, where) {
	const file = path.join(where, `v8_${mode}.js`);
	const text = source(mode, modes[mode]);
	fs.writeFileSync(file, text);
	text.split('\n').forEach((line, i) => {
		const found = line.match(/(low|mid|top|drive)_[^ (]+(?=\(n\) \{$)/) ||
			line.match(/exports\.low_assigned(?= = )/);
		if (found)
			console.log([found[0], file, i + 1].join('\t'));
	});
	return file;
}

function drive(file, ms) {
	const driven = require(file).drive;
	const until = process.cpuUsage().user + ms * 1000;
	let kept = [];
	for (let n = 0; process.cpuUsage().user < until; n++) {
		kept.push(driven(n));
		if (kept.length > 100)
			kept = [];
	}
}

if (!isMainThread) {
	for (const file of workerData.files)
		drive(file, workerData.ms);
} else {
	const [where, ms] = [process.argv[2], Number(process.argv[3])];
	const files = Object.keys(modes).map((mode) => write(mode, where));
	drive(files[0], 500); // it takes a moment to find out what node is
	for (const file of files)
		drive(file, ms);
	new Worker(__filename, { workerData: { files: [files[0], files[1]], ms } });
}
