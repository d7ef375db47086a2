// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Draws the page from the data in it. Text goes in as text, never as markup.
'use strict';
(function () {
  const run = JSON.parse(document.getElementById('run').textContent);
  const report = run.report, history = run.history;
  const section = (id) => document.getElementById(id);

  // ---- Elements and words

  function make(name, content, className) {
    const element = document.createElement(name);
    if (className) element.className = className;
    for (const part of content === undefined ? [] : Array.isArray(content) ? content : [content])
      element.append(part instanceof Node ? part : String(part));
    return element;
  }
  const add = (where, ...elements) => { for (const element of elements) where.append(element); return where; };
  const note = (text) => make('p', text, 'note');

  const count = (n) => Number(n).toLocaleString('en-US');
  const several = (n, noun) => count(n) + ' ' + noun + (n === 1 ? '' : 's');
  const short = (n) => (n >= 100 ? Math.round(n) : Number(n.toPrecision(3))).toLocaleString('en-US', { maximumFractionDigits: 9 });
  function scaled(n, step, names) {
    let i = 0;
    while (Math.abs(n) >= step && i + 1 < names.length) { n /= step; ++i; }
    return short(n) + names[i];
  }
  const bytes = (n) => scaled(n, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
  const large = (n) => scaled(n, 1000, ['', 'k', 'M', 'G', 'T']);
  const percent = (share) => share > 0 && share < 0.001 ? '< 0.1 %' : (100 * share).toFixed(1) + ' %';
  function duration(seconds) {
    if (seconds < 60) return short(seconds) + ' s';
    const whole = Math.round(seconds), two = (n) => String(n).padStart(2, '0');
    return whole < 3600 ? Math.floor(whole / 60) + ':' + two(whole % 60) + ' min'
      : Math.floor(whole / 3600) + ':' + two(Math.floor(whole / 60) % 60) + ':' + two(whole % 60) + ' h';
  }
  const plural = (noun) => noun.endsWith('s') ? noun : noun + 's';
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  function table(head, rows, numbers) {
    const isNumber = (i) => (numbers || []).includes(i) ? 'number' : '';
    const labelled = (cell, i) => { const made = make('td', cell, isNumber(i)); made.dataset.label = head[i] || ''; return made; };
    const body = make('tbody', rows.map((row) => make('tr', row.map(labelled))));
    return make('table', [make('thead', make('tr', head.map((cell, i) => make('th', cell, isNumber(i))))), body], head.length > 2 ? 'stacks' : 'pairs');
  }
  const folded = (title, ...content) => add(make('details'), make('summary', title), ...content);

  // ---- Charts: made anew when the colours change

  const charts = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const series = (i) => colour('c' + (i % 10));
  function chart(where, title, height, explanation, config) {
    const canvas = make('canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', title);
    const box = make('div', canvas, 'chart');
    box.style.height = height + 'px';
    const block = make('div', [make('h3', title), box]);
    if (explanation) block.append(note(explanation));
    where.append(block);
    charts.push({ canvas, config, drawn: null });
  }
  function draw() {
    Chart.defaults.color = colour('quiet');
    Chart.defaults.borderColor = colour('line');
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    for (const one of charts) {
      if (one.drawn) one.drawn.destroy();
      one.drawn = new Chart(one.canvas, one.config());
    }
    document.body.dataset.charts = charts.filter((one) => one.drawn).length;
  }
  const axis = (title, more) => Object.assign({ title: { display: true, text: title }, beginAtZero: true }, more);
  const legend = (display) => ({ legend: { display, position: 'bottom', labels: { boxWidth: 14, boxHeight: 10 } } });
  const timeAxis = () => axis('time since the start (s)', { type: 'linear', min: 0, max: report.time.elapsed_seconds, ticks: { maxTicksLimit: 10, includeBounds: false, callback: (v) => short(v) } });
  const line = (label, xs, ys, i, more) => Object.assign({
    label, data: xs.map((x, k) => ({ x, y: ys[k] })), borderColor: series(i), backgroundColor: series(i), borderWidth: 1.8, pointRadius: 0, stepped: false, tension: 0 }, more);

  function timeChart(where, title, explanation, yTitle, ticks, lines, more) {
    chart(where, title, 240, explanation, () => ({
      type: 'line', data: { datasets: lines() },
      options: { interaction: { mode: 'nearest', axis: 'x', intersect: false }, plugins: legend(true),
        scales: Object.assign({ x: timeAxis(), y: axis(yTitle, Object.assign({ ticks: { callback: ticks } }, more)) }) }
    }));
  }

  // ---- What stands at the top

  const first = report.account.find((path) => path.read > 0) || report.account[0];
  function head() {
    const state = make('span', report.state, 'state ' + report.state);
    const summary = run.summary ? make('p', run.summary, 'quiet') : '';
    add(section('head'), make('h1', [report.pipeline.name || 'pipeline', state]), summary,
      note(['sluice ' + report.versions.sluice + ', ended ' + run.ended, report.machine.processor ? ', on ' + report.machine.processor : ''].join('')));
  }
  const card = (value, what, more) => make('div', [make('b', value), make('span', what), more ? make('span', more) : ''], 'card');
  function glance() {
    const where = section('glance'), cards = make('div', undefined, 'cards');
    if (report.error) add(where, make('div', [make('b', 'It failed' + (report.error.stage ? " in '" + report.error.stage + "'" : '') + ': '), report.error.message,
      report.error.remedy ? ' (' + report.error.remedy + ')' : ''], 'message bad'));
    if (report.state === 'interrupted')
      add(where, make('div', 'It was interrupted: ' + (report.outputs.length ? 'what was finished by then was kept in files ending in .partial.' : 'nothing was kept.'), 'message odd'));
    for (const hint of report.hints) add(where, make('div', hint, 'message odd'));
    for (const device of report.devices)
      if (device.retired_because) add(where, make('div', [make('b', device.name + ' was given up: '), device.retired_because,
        '. What it had under way was done again elsewhere: the output is the same.'], 'message odd'));
    if (first) {
      const fate = (rows) => first.read > 0 ? percent(rows / first.read) + ' of them' : '';
      add(cards, card(count(first.read), plural(first.called) + ' went in', 'by ' + first.source));
      const outcome = Object.entries(first.outcomes)[0];
      add(cards, outcome ? card(count(outcome[1].good), outcome[0] + ' (' + first.end + ')', 'of ' + count(outcome[1].total))
        : card(count(first.written), 'came out (' + first.end + ')', fate(first.written)));
      add(cards, card(count(first.failed), 'failed', fate(first.failed)), card(count(first.filtered), 'left out on purpose', fate(first.filtered)));
    }
    add(where, cards);
    if (report.account.some((path) => !path.adds_up)) add(where, make('div', 'The counts do not add up: please report this.', 'message bad'));
  }
  // What it took: at the head of the part about the engine.
  function cost() {
    const where = section('speed'), cards = make('div', undefined, 'cards');
    const faultsOf = (d) => d.faults.memory + d.faults.kernel + d.faults.lost;
    const source = history.stages.find((stage) => stage.role === 'source' && stage.unit);
    const work = source && (report.stages.find((stage) => stage.name === source.name)?.implementations ?? []).reduce((sum, i) => sum + i.work, 0);
    const seconds = report.time.elapsed_seconds;
    add(cards, card(duration(seconds), 'from start to end', work && seconds > 0 ? large(work / seconds) + ' ' + plural(source.unit) + '/s' : ''),
      card(duration(report.time.cpu_seconds), 'of CPU time', several(report.time.threads, 'thread')),
      card(bytes(report.memory.resident_peak_bytes), 'of memory at most', 'budget for batches ' + bytes(report.memory.budget_bytes)));
    for (const device of report.devices)
      add(cards, card(percent(device.utilisation), device.name + ' was busy', device.model + (faultsOf(device) ? ', ' + several(faultsOf(device), 'fault') : '')));
    add(where, cards, make('p', [make('b', 'What took the time: '), report.bottleneck + '.']));
  }

  // ---- Results: what the stages found, in figures

  const exact = (n) => n >= 1000 ? count(Math.round(n)) : String(Math.round(n * 100) / 100);
  const withUnit = (text, unit) => text + (unit === '' ? '' : unit === 'x' || unit === '%' ? (unit === 'x' ? 'x' : ' %') : ' ' + unit);
  function resultCard(figure) {
    const more = figure.kind === 'share' && figure.unit ? large(figure.part) + ' of ' + large(figure.whole) + ' ' + plural(figure.unit) : '';
    const value = figure.kind === 'share' ? (100 * figure.value).toFixed(2) + ' %' : withUnit(exact(figure.value), figure.kind === 'total' ? '' : figure.unit);
    const box = card(value, figure.title, more);
    box.title = figure.meaning;
    return box;
  }
  // Every class between the first and the last; where there are many, some of them together.
  function filled(figure) {
    let first = figure.classes[0][0], last = figure.classes[figure.classes.length - 1][0];
    while (last - first < 11) first > 0 ? --first : ++last;
    const step = Math.max(1, Math.ceil((last - first + 1) / 120));
    const bars = [];
    for (let at = Math.floor(first / step) * step; at <= last; at += step) bars.push([at * figure.width, (at + step) * figure.width, 0]);
    for (const [index, number] of figure.classes) bars[Math.floor(index / step) - Math.floor(first / step)][2] += number;
    return bars;
  }
  function histogramChart(where, figure) {
    if (figure.classes.length === 0) return;
    const bars = filled(figure), wide = bars[0][1] - bars[0][0];
    const name = (bar) => wide === 1 && figure.width === 1 ? exact(bar[0]) : String(Number(bar[0].toPrecision(6)));
    chart(where, capital(figure.title), 220, capital(figure.meaning) + '; median ' + exact(figure.median) + '.', () => ({
      type: 'bar',
      data: { labels: bars.map(name), datasets: [{ label: 'number', data: bars.map((bar) => bar[2]), backgroundColor: series(0), categoryPercentage: 1, barPercentage: bars.length > 60 ? 1 : 0.94 }] },
      options: { plugins: Object.assign(legend(false), { tooltip: { callbacks: { title: (items) => { const bar = bars[items[0].dataIndex]; return figure.width === 1 && wide === 1 ? name(bar) : name(bar) + ' to ' + Number(bar[1].toPrecision(6)); } } } }),
        scales: { x: axis(figure.title + (figure.unit ? ' (' + figure.unit + ')' : ''), { grid: { display: false }, ticks: { maxTicksLimit: 11, maxRotation: 0 } }), y: axis('', { grace: '4%', ticks: { callback: large, precision: 0 } }) } }
    }));
  }
  function alongChart(where, figure) {
    if (figure.windows.length === 0) return;
    const points = new Map(), share = figure.kind === 'along' && figure.unit === '%';
    const sequences = [...new Set(figure.windows.map((w) => w[0]))];
    const apart = sequences.length > 1;
    let before = 0, last = null, end = 0;
    for (const [sequence, from, to, part, whole] of figure.windows) {
      if (last !== null && sequence !== last) before += end;
      last = sequence, end = to;
      if (!points.has(sequence)) points.set(sequence, []);
      points.get(sequence).push({ x: (apart ? before : 0) + (from + to) / 2, y: whole > 0 ? (share ? 100 : 1) * part / whole : null, place: sequence + ':' + count(from + 1) + '-' + count(to) });
    }
    const title = (items) => items[0].raw.place;
    const from = apart ? 0 : figure.windows[0][1];
    chart(where, capital(figure.title), 240, capital(figure.meaning) + (apart ? '; ' + count(sequences.length) + ' sequences, one behind the other.' : '.'), () => ({
      type: 'line',
      data: { datasets: [...points].map(([sequence, data], i) => ({ label: sequence, data, borderColor: series(apart ? i % 2 * 4 : 0), backgroundColor: series(apart ? i % 2 * 4 : 0) + '44', fill: share ? false : 'origin', borderWidth: 1.6, pointRadius: data.length < 40 ? 2 : 0 })) },
      options: { interaction: { mode: 'nearest', axis: 'x', intersect: false }, plugins: Object.assign(legend(false), { tooltip: { callbacks: { title } } }),
        scales: { x: axis(apart ? 'position (bases), contigs in their order' : sequences[0] + ' (position in bases)', { type: 'linear', min: from, max: before + end, ticks: { maxTicksLimit: 8, maxRotation: 0, includeBounds: false, callback: large } }),
          y: axis(figure.unit === 'x' ? 'depth' : withUnit('', figure.unit), share ? { min: 0, max: 100 } : { ticks: { callback: short } }) } }
    }));
  }
  function squiggleChart(where, figure, squiggle) {
    const at = (sample) => squiggle.first + sample * squiggle.step;
    const steps = squiggle.events.slice().sort((a, b) => a[0] - b[0]).flatMap(([begin, end, level, label]) =>
      [{ x: begin, y: level / 10, label }, { x: end, y: level / 10, label }, { x: end, y: null, label }]);
    chart(where, 'Squiggle of ' + squiggle.read, 260, 'Grey: samples; the lines are the ' + squiggle.events.length + ' events over them.', () => ({
      type: 'line',
      data: { datasets: [
        { label: 'events', data: steps, borderColor: series(5), backgroundColor: series(5), borderWidth: 2.4, pointRadius: 0 },
        { label: 'samples', data: squiggle.samples.map((sample, i) => ({ x: at(i), y: sample / 10 })), borderColor: colour('quiet') + '99', backgroundColor: colour('quiet'), borderWidth: 1, pointRadius: 0 }] },
      options: { interaction: { mode: 'nearest', axis: 'x', intersect: false }, plugins: Object.assign(legend(true), { tooltip: { callbacks: { title: (items) => (items.find((item) => item.raw.label) || { raw: { label: 'sample ' + count(items[0].raw.x) } }).raw.label } } }),
        scales: { x: axis('sample', { type: 'linear', min: squiggle.first, max: at(squiggle.samples.length), ticks: { maxTicksLimit: 8, maxRotation: 0, includeBounds: false, callback: (v) => count(v) } }), y: axis(figure.unit, { beginAtZero: false }) } }
    }));
  }
  function resultTable(where, figure) {
    if (figure.rows.length === 0) return;
    const long = figure.rows.some((row) => row.length > 0), most = 25;
    const shares = figure.kind === 'shares';
    const cells = (row) => shares ? [row.name, count(row.amount), count(row.length), row.length > 0 ? (100 * row.amount / row.length).toFixed(2) + ' %' : ''] : long ? [row.name, count(row.length), count(row.amount), row.length > 0 ? withUnit(exact(row.amount / row.length), figure.unit) : ''] : [row.name, count(row.amount)];
    const made = (rows) => shares ? table(['', plural(figure.unit), 'of', 'share'], rows.map(cells), [1, 2, 3]) : long ? table(['', 'length', 'bases', figure.title], rows.map(cells), [1, 2, 3]) : table(['', plural(figure.unit)], rows.map(cells), [1]);
    add(where, make('h3', capital(figure.title)), note(capital(figure.meaning) + '.'), made(figure.rows.slice(0, most)));
    if (figure.rows.length > most) add(where, folded('The other ' + count(figure.rows.length - most), made(figure.rows.slice(most))));
  }
  function results() {
    const where = section('results');
    const stages = report.stages.filter((stage) => (stage.results || []).length > 0);
    if (stages.length === 0) return where.remove();
    const cards = make('div', undefined, 'cards'), box = make('div', undefined, 'charts'), tables = make('div'), squiggles = make('div');
    for (const stage of report.stages)
      if (stage.role === 'source' && stage.row_lengths)
        add(cards, card(count(Math.round(stage.row_lengths.n50)), 'N50 of ' + (first && first.source === stage.name ? plural(first.called) : stage.name) + ' (' + plural(stage.row_lengths.unit) + ')', large(stage.row_lengths.total) + ' ' + plural(stage.row_lengths.unit) + ' in all'));
    for (const figure of stages.flatMap((stage) => stage.results)) {
      if (figure.value !== null && !figure.windows && !figure.classes && figure.kind !== 'shares') add(cards, resultCard(figure));
      if (figure.kind === 'histogram') histogramChart(box, figure);
      if (figure.kind === 'along' || figure.kind === 'depth') alongChart(box, figure);
      for (const squiggle of figure.squiggles || []) squiggleChart(squiggles, figure, squiggle);
      if (figure.rows) resultTable(tables, figure);
    }
    add(where, cards, squiggles, box, tables);
  }

  // ---- Inputs, outputs

  const checksum = (file) => file.xxh3 ? make('span', [make('code', file.xxh3), file.xxh3_of === 'whole' ? '' : make('span', ' of the first and last MiB', 'quiet')]) : '';
  function files(where, use) {
    const list = report.files.filter((file) => file.use === use);
    if (list.length === 0) return add(where, note(use === 'input' ? 'No files.' : 'No files: nothing was kept.'));
    add(where, table(['file', 'as', 'size', 'XXH3'], list.map((file) => [file.path, file.what, file.xxh3 ? bytes(file.bytes) : '', checksum(file)]), [2]));
  }
  // The classes of a histogram, those without rows between them too.
  function withGaps(histogram) {
    const result = [];
    for (const one of histogram.filter((entry) => entry[1] > 0)) {
      for (let last = result[result.length - 1]; last && last[1] * 1.05 < one[0] && result.length < 400; last = result[result.length - 1])
        result.push([last[1], last[1] * 1.1, 0]);
      result.push(one);
    }
    return result;
  }
  function lengthCharts(where) {
    const box = make('div', undefined, 'charts');
    for (const stage of report.stages) {
      const lengths = stage.row_lengths;
      if (!lengths) continue;
      const classes = withGaps(lengths.histogram);
      if (classes.length === 0) continue;
      const units = plural(lengths.unit);
      const text = count(lengths.rows) + ' rows, ' + large(lengths.total) + ' ' + units + '; median ' + short(lengths.p50) + ', mean ' + short(lengths.mean) +
        ', N50 ' + short(lengths.n50) + ', longest ' + count(lengths.maximum) + '.';
      chart(box, "Lengths of rows (stage '" + stage.name + "')", 240, text, () => ({
        type: 'bar',
        data: { labels: classes.map((one) => large(Math.sqrt(one[0] * one[1]))), datasets: [{ label: 'rows', data: classes.map((one) => one[2]), backgroundColor: series(0), categoryPercentage: 1, barPercentage: 0.94 }] },
        options: { plugins: Object.assign(legend(false), { tooltip: { callbacks: { title: (items) => short(classes[items[0].dataIndex][0]) + ' to ' + short(classes[items[0].dataIndex][1]) + ' ' + units } } }),
          scales: { x: axis('length (' + units + ', each bar a tenth longer than the one before)', { grid: { display: false }, ticks: { maxTicksLimit: 9, maxRotation: 0 } }), y: axis('rows', { grace: '4%', ticks: { callback: large, precision: 0 } }) } }
      }));
    }
    if (box.childElementCount > 0) add(where, box);
    else add(where, note('No stage of this pipeline says how long its rows are.'));
  }
  function wentIn() {
    const where = section('in');
    files(where, 'input');
    const given = Object.entries(report.parameters).filter((one) => one[1] !== '');
    if (given.length > 0) add(where, folded('Parameters (' + given.length + ')', table(['parameter', 'value'], given)));
    lengthCharts(where);
  }
  function rocChart(where, figures) {
    chart(where, 'ROC (' + figures.path + ')', 340, 'How many of what is looked for is found, for how many of the others taken along. The diagonal is chance.', () => ({
      type: 'line',
      data: { datasets: figures.roc.map((curve, i) => line(curve.name, curve.points.map((p) => p[0]), curve.points.map((p) => p[1]), i))
        .concat([{ label: 'chance', data: [{ x: 0, y: 0 }, { x: 1, y: 1 }], borderColor: colour('quiet'), borderDash: [4, 4], borderWidth: 1, pointRadius: 0 }]) },
      options: { plugins: legend(true), scales: { x: axis('false positive rate', { type: 'linear', min: 0, max: 1 }), y: axis('recall (true positive rate)', { min: 0, max: 1 }) } }
    }));
  }
  function cameOut() {
    const where = section('out');
    files(where, 'output');
    const rows = [];
    for (const path of report.account)
      for (const [name, outcome] of Object.entries(path.outcomes))
        rows.push([path.end, capital(name), count(outcome.good), 'of ' + several(outcome.total, path.called)]);
    for (const stage of report.stages)
      for (const [name, value] of Object.entries(stage.counters)) rows.push([stage.name, name, short(value), '']);
    if (rows.length > 0) add(where, table(['stage', 'what it counted', '', ''], rows, [2]));
    for (const figures of run.figures) {
      if (figures.values.length > 0) add(where, make('h3', 'Figures in ' + figures.path), table(['', 'value'], figures.values, [1]));
      if (figures.rows.length > 0) add(where, make('h3', 'Figures in ' + figures.path), table(figures.columns, figures.rows, figures.columns.map((c, i) => i)));
      if (figures.roc.length > 0) rocChart(where, figures);
    }
  }

  // ---- Fates

  const fateColour = { written: 'c2', failed: 'c5', filtered: 'c7', unfinished: 'c1' };
  function lost() {
    const where = section('lost');
    const paths = report.account;
    if (paths.length === 0) return add(where, note('No row was read.'));
    chart(where, 'What became of the rows', 74 + 34 * paths.length, '', () => ({
      type: 'bar',
      data: { labels: paths.map((path) => path.source + ' → ' + path.end),
        datasets: [['written', 'came out'], ['failed', 'failed'], ['filtered', 'left out on purpose'], ['unfinished', 'under way at the end']]
          .filter((kind) => paths.some((path) => path[kind[0]] > 0) || kind[0] === 'written')
          .map((kind) => ({ label: kind[1], data: paths.map((path) => path.read > 0 ? 100 * path[kind[0]] / path.read : 0), rows: paths.map((path) => path[kind[0]]), backgroundColor: colour(fateColour[kind[0]]), maxBarThickness: 22 })) },
      options: { indexAxis: 'y', plugins: Object.assign(legend(true), { tooltip: { callbacks: { label: (item) => item.dataset.label + ': ' + several(item.dataset.rows[item.dataIndex], paths[item.dataIndex].called) } } }),
        scales: { x: axis('rows (%)', { stacked: true, max: 100 }), y: { stacked: true, grid: { display: false } } } }
    }));
    add(where, table(['from → to', 'went in', 'came out', 'failed', 'left out', 'under way'],
      paths.map((path) => [path.source + ' → ' + path.end, several(path.read, path.called), count(path.written), count(path.failed), count(path.filtered), count(path.unfinished)]), [1, 2, 3, 4, 5]));
    const losses = new Map();
    for (const path of paths)
      for (const loss of path.losses) losses.set(loss.stage + '\n' + loss.reason, Object.assign({ read: path.read }, loss));
    const list = [...losses.values()].sort((a, b) => b.rows - a.rows);
    if (list.length === 0) return add(where, make('p', 'Nothing was lost.'));
    const shown = list.slice(0, 12);
    chart(where, 'Reasons', 66 + 28 * shown.length, '', () => ({
      type: 'bar',
      data: { labels: shown.map((loss) => loss.stage + ': ' + loss.reason), datasets: [{ label: 'rows', data: shown.map((loss) => loss.rows), backgroundColor: colour('c5'), maxBarThickness: 18 }] },
      options: { indexAxis: 'y', plugins: legend(false), scales: { x: axis('rows', { ticks: { callback: large, precision: 0 } }), y: { grid: { display: false } } } }
    }));
    add(where, table(['stage', 'reason', 'meaning', 'rows', 'of what went in'],
      list.map((loss) => [loss.stage, make('code', loss.reason), loss.meaning, count(loss.rows), loss.read > 0 ? percent(loss.rows / loss.read) : '']), [3, 4]));
    const examples = [];
    for (const stage of report.stages) for (const row of stage.examples) examples.push([stage.name, row.reason, row.row]);
    if (examples.length > 0)
      add(where, folded('The first of them by name (' + examples.length + ')', table(['stage', 'reason', 'row'], examples), note('All of them: --account FILE.')));
  }

  // ---- Speed over time

  const hasHistory = () => history.seconds.length > 1;
  function speed() {
    const where = section('speed'), seconds = history.seconds;
    if (!hasHistory()) return add(where, note('The run was too short to show anything over time.'));
    const box = make('div', undefined, 'charts');
    add(where, box);
    const sources = history.stages.filter((stage) => stage.role === 'source');
    const units = [...new Set(sources.map((stage) => stage.unit))];
    timeChart(box, 'Input', 'What the sources read per second. It rises and falls by whole batches.', units.map(plural).join(' or ') + ' per second', large,
      () => sources.map((stage, i) => line(stage.name, [0].concat(history.coarse_seconds), stage.work_per_second.slice(0, 1).concat(stage.work_per_second), i, { stepped: 'after', fill: sources.length === 1 ? 'origin' : false, backgroundColor: series(i) + '44' })));
    const sinks = history.stages.filter((stage) => stage.role === 'sink');
    timeChart(box, 'Output', 'How much of what each output holds in the end was written by then.', 'of its rows (%)', short,
      () => sinks.map((stage, i) => line(stage.name, [0].concat(seconds), [0].concat(stage.rows.map((n) => 100 * n / Math.max(stage.rows[stage.rows.length - 1], 1))), i)), { max: 100 });
  }

  // ---- What bound it

  function strips(where) {
    const tracks = history.tracks.list || [];
    if (tracks.length === 0) return;
    const lanes = [...new Set(tracks.map((track) => track.lane))].sort((a, b) => order(a) - order(b));
    function order(lane) { return lane === 'reader' ? 0 : lane === 'cpu' ? 1 : lane === 'writer' ? 3 : 2; }
    const named = { reader: 'reading (one thread each)', cpu: 'CPU threads', writer: 'writing (one thread each)' };
    const grid = make('div', undefined, 'strips');
    const elapsed = report.time.elapsed_seconds, svg = 'http://www.w3.org/2000/svg';
    for (const lane of lanes) {
      grid.append(make('div', named[lane] || lane, 'lane'));
      for (const track of tracks.filter((one) => one.lane === lane)) {
        const most = Math.max(...track.calls, 1);
        const strip = document.createElementNS(svg, 'svg');
        strip.setAttribute('viewBox', '0 0 1000 10');
        strip.setAttribute('preserveAspectRatio', 'none');
        const width = 1000 * history.tracks.interval_seconds / Math.max(elapsed, 1e-9);
        track.calls.forEach((calls, i) => {
          if (calls <= 0 || i * width >= 1000) return;
          const box = document.createElementNS(svg, 'rect');
          const set = (name, value) => box.setAttribute(name, value);
          set('x', (i * width).toFixed(2)); set('y', 0); set('height', 10);
          set('width', Math.min(width + 0.3, 1000 - i * width).toFixed(2));
          set('style', 'fill: var(--c' + (lane === 'cpu' ? 0 : lane === 'reader' ? 4 : lane === 'writer' ? 2 : 5) + ')');
          set('opacity', Math.max(0.12, Math.min(calls / most, 1)).toFixed(2));
          strip.append(box);
        });
        grid.append(make('div', track.stage), strip);
      }
    }
    grid.append(make('div'), make('div', [make('span', '0 s'), make('span', duration(elapsed / 2)), make('span', duration(elapsed))], 'axis'));
    add(where, make('h3', 'When each stage was at work'), note('From left to right the run; the stronger the colour, the more calls of the stage were under way at once. A gap: it waited.'), grid);
  }
  const shareBar = (share, kind) => { const bar = make('i'); bar.style.width = (100 * share).toFixed(1) + '%'; return make('span', [make('span', bar, 'share ' + kind), percent(share)], 'shares'); };
  function waits(where) {
    if (run.waiting.length === 0) return;
    add(where, make('h3', 'What waited for what'),
      table(['', 'busy', 'waited', 'for'], run.waiting.map((one) => [one.who, shareBar(one.busy, ''), one.waited_for ? shareBar(one.waited, 'waited') : '', one.waited_for])));
  }
  function stageTimes(where) {
    const stages = report.stages.filter((stage) => stage.busy_seconds > 0);
    const devices = [...new Set(stages.flatMap((stage) => stage.implementations.map((i) => i.device)))];
    const order = (name) => name === 'cpu' ? 0 : name === 'writer' ? 2 : 1;
    devices.sort((a, b) => order(a) - order(b));
    const spent = (stage, device) => {
      const seconds = stage.implementations.filter((i) => i.device === device).reduce((sum, i) => sum + i.seconds, 0);
      return device === 'cpu' && stage.implementations.length === 0 ? stage.busy_seconds : seconds;
    };
    if (!devices.includes('cpu')) devices.unshift('cpu');
    chart(where, 'Where the time went', 84 + 24 * stages.length, 'Sum over all calls: several calls may run at once, so this may be more than the run took.', () => ({
      type: 'bar',
      data: { labels: stages.map((stage) => stage.name), datasets: devices.map((device, i) => ({ label: device, data: stages.map((stage) => spent(stage, device)), backgroundColor: series(device === 'cpu' ? 0 : device === 'writer' ? 2 : 4 + i), maxBarThickness: 16 })) },
      options: { indexAxis: 'y', plugins: legend(true), scales: { x: axis('seconds of calls', { stacked: true }), y: { stacked: true, grid: { display: false }, ticks: { autoSkip: false } } } }
    }));
  }
  function resources(where) {
    if (!hasHistory()) return;
    const box = make('div', undefined, 'charts'), seconds = history.seconds;
    add(where, box);
    timeChart(box, 'CPU', 'Threads that computed; the dashed line is how many the run had.', 'threads', short, () => [
      line('threads at work', seconds, history.threads_busy, 0, { fill: 'origin', backgroundColor: series(0) + '44' }),
      { label: 'threads of the run', data: [{ x: 0, y: report.time.threads }, { x: report.time.elapsed_seconds, y: report.time.threads }], borderColor: colour('quiet'), borderDash: [5, 4], borderWidth: 1, pointRadius: 0 }]);
    const mebibytes = (list) => list.map((n) => n / 1048576);
    timeChart(box, 'Memory', 'Of the whole process, by the kernel; and of the batches under way, by the run.', 'MiB', short, () => [
      line('process', seconds, mebibytes(history.resident_bytes), 3), line('batches', seconds, mebibytes(history.column_bytes), 0, { fill: 'origin', backgroundColor: series(0) + '44' })]);
    if (history.devices.length > 0) {
      timeChart(box, 'Devices', 'The part of the time with at least one call under way.', 'busy (%)', short,
        () => history.devices.map((device, i) => line(device.name, seconds, device.busy.map((b) => 100 * b), 5 + i)), { max: 100 });
      timeChart(box, 'Device memory', 'What the run held on each device.', 'MiB', short,
        () => history.devices.map((device, i) => line(device.name, seconds, mebibytes(device.memory_bytes), 5 + i, { fill: history.devices.length === 1 ? 'origin' : false, backgroundColor: series(5 + i) + '44' })));
      timeChart(box, 'Copies', 'Columns that were copied to and from devices.', 'MiB per second', short,
        () => history.devices.flatMap((device, i) => [line('to ' + device.name, seconds, mebibytes(device.to_device), 5 + 2 * i), line('back from ' + device.name, seconds, mebibytes(device.to_host), 2 + 2 * i)]));
    }
    const waiting = history.stages.filter((stage) => stage.role === 'source' && stage.waiting.some((share) => share >= 0.02));
    if (waiting.length > 0)
      timeChart(box, 'Sources that waited', 'For room in memory, because the stages behind them were slower.', 'of the time (%)', short,
        () => waiting.map((stage, i) => line(stage.name, [0].concat(seconds), stage.waiting.slice(0, 1).concat(stage.waiting).map((share) => 100 * share), 1 + i, { stepped: 'after' })), { max: 100 });
  }
  function deviceTable(where) {
    if (report.devices.length === 0) return;
    add(where, make('h3', 'Devices'), table(['device', 'calls', 'busy', 'copies', 'to the device', 'back', 'memory at most', 'faults'],
      report.devices.map((d) => [d.name + ' (' + d.model + ')', count(d.calls), percent(d.utilisation), count(d.copies), bytes(d.bytes_to_device), bytes(d.bytes_to_host), bytes(d.device_peak_bytes),
        Object.entries(d.faults).filter((one) => one[1] > 0).map((one) => one[0] + ' ' + one[1]).join(', ') || 'none']), [1, 2, 3, 4, 5, 6]));
  }
  function bound() {
    const where = section('bound');
    add(where, make('p', capital(report.bottleneck) + '.'));
    strips(where);
    waits(where);
    stageTimes(where);
    resources(where);
    deviceTable(where);
    add(where, make('h3', 'What the scheduler decided'), make('ul', run.scheduling.map((sentence) => make('li', sentence))));
  }

  function how() {
    const where = section('how');
    const machine = report.machine;
    add(where, make('h3', 'Command'), make('pre', run.command_line),
      table(['', ''], [['pipeline', report.pipeline.name + ' (' + report.pipeline.file + ')'], ['sluice', report.versions.sluice + ', plugin interface ' + report.versions.abi],
        ['exit code', String(report.exit_code)], ['machine', [machine.processor, machine.operating_system, machine.usable_cpus + ' CPUs', bytes(machine.usable_memory_bytes)].join(', ')],
        ['instruction sets', machine.instruction_sets.join(', ')]]),
      note('Checksums are XXH3 with 64 bits, as xxhsum -H3 prints them; of files above 256 MiB only the first and the last MiB are read.'),
      folded('Plugins (' + report.versions.plugins.length + ')', table(['plugin', 'version', 'build', 'file'], report.versions.plugins.map((p) => [p.name, p.version, p.build_id, p.file]))));
    if (run.left_out) add(where, note(run.left_out));
  }

  head(); glance(); results(); wentIn(); cameOut(); lost(); cost(); speed(); bound(); how();
  draw();
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  window.matchMedia('print').addEventListener('change', draw);
})();
