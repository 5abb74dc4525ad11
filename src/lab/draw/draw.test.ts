import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawHeatMap, heatColor } from './heat-map.ts';
import { drawLatencies, thin } from './latency-plot.ts';
import { element, label, picture, rectangle, shifted } from './svg.ts';

test('elements are nested, and what users name cannot break out of them', () => {
  assert.equal(element('g', { id: 'a"b', x: 1.26 }), '<g id="a&quot;b" x="1.3"/>');
  const text = label([1, 2], '<&>');
  assert.equal(text, '<text x="1" y="2" text-anchor="start">&lt;&amp;&gt;</text>');
  assert.equal(shifted([1, -2], text), `<g transform="translate(1 -2)">${text}</g>`);
  const whole = picture(10, 20, rectangle({ x: 0, y: 0, width: 1, height: 2 }));
  assert.match(whole, /^<svg [^>]*viewBox="0 0 10 20"[^>]*><rect [^>]*\/><rect [^>]*\/><\/svg>\n$/);
  assert.throws(() => element('g', { x: Number.NaN }), /not a number/);
});

test('a map shows every value at its place', () => {
  const { svg, width, height } = drawHeatMap({
    title: 'a title',
    rowTitle: 'rows',
    columnTitle: 'columns',
    rows: ['one', 'two'],
    columns: ['a', 'b', 'c'],
    values: [
      [1, 2, null],
      [0.5, 'no end', 9],
    ],
  });
  for (const text of ['a title', 'one', 'two', '1.00', '2.00', '0.50', 'no end', '9.00']) {
    assert.ok(svg.includes(`>${text}<`), text);
  }
  assert.equal(svg.match(/<rect /g)?.length, 6);
  assert.ok(width > 300 && height > 100);
});

test('the color goes one way, and no further than its ends', () => {
  const green = (color: string): number => Number.parseInt(color.slice(3, 5), 16);
  assert.equal(heatColor(0.2), heatColor(1));
  assert.equal(heatColor(5), heatColor(500));
  assert.notEqual(heatColor(1), heatColor(1.2));
  let last = 256;
  for (const ratio of [1.9, 2.5, 3.3, 5]) {
    assert.ok(green(heatColor(ratio)) < last, `${ratio}`);
    last = green(heatColor(ratio));
  }
});

test('a plot has a dot for each point, higher for slower, and a line for the trouble', () => {
  const points = [
    { atSeconds: 1, ms: 2 },
    { atSeconds: 2, ms: 200 },
  ];
  const { svg } = drawLatencies({ title: 't', points, healthy: [], troubleAtSeconds: 1.5 });
  const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map((m) => m.map(Number));
  assert.equal(dots.length, 2);
  assert.ok((dots[0]?.[1] ?? 0) < (dots[1]?.[1] ?? 0), 'time goes right');
  assert.ok((dots[0]?.[2] ?? 0) > (dots[1]?.[2] ?? 0), 'slow is up');
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 1);
});

test('thinning keeps the slowest', () => {
  const points = Array.from({ length: 10_000 }, (_, n) => ({
    atSeconds: n,
    ms: n % 1111 === 0 ? 500 : 1,
  }));
  const kept = thin(points);
  assert.ok(kept.length <= 1500 && kept.length > 1000);
  assert.equal(kept.filter(({ ms }) => ms === 500).length, 10);
  assert.deepEqual(thin(points.slice(0, 5)), points.slice(0, 5));
});
