/** Monitors of sessions (RFC 7047 §4.1.5–4.1.7 and the original's three more methods). */
import { assert } from '../../stdx/index.ts';
import { isError, OvsdbError, syntaxError } from '../data/error.ts';
import type { Json } from '../json/value.ts';
import type { MonitorMethod } from '../monitor/index.ts';
import type { Hub } from './hub.ts';
import { idKey, notificationText, type Request } from './message.ts';
import type { ServedDatabase } from './served-database.ts';
import type { OpenMonitor, Session } from './session.ts';

/** What a request is answered. */
export type Reply = { readonly result: Json } | { readonly error: Json | OvsdbError };

export function openMonitor(
  method: MonitorMethod,
  session: Session,
  served: ServedDatabase,
  { params }: Request,
  hub: Hub,
): Reply {
  assert(served.content !== null, 'openMonitor: the database is not known yet');
  if (session.monitors.size >= hub.limits.monitorsMax) {
    return { error: new OvsdbError('resources exhausted', 'too many monitors') };
  }
  const { monitors } = served.content;
  const opened = monitors.open(method, params, (id) => session.monitors.has(idKey(id)));
  if (isError(opened)) return { error: opened };
  const { monitor, reply } = opened;
  monitor.owner = session;
  session.monitors.set(idKey(monitor.id), { served, monitor });
  return { result: reply };
}

/** What the new conditions add and take away is sent before the reply. */
export function changeMonitor(session: Session, { params }: Request, hub: Hub): Reply {
  if (params.length !== 3) return { error: syntaxError(params, 'invalid parameters') };
  const key = idKey(params[0]);
  const open = session.monitors.get(key);
  if (open === undefined) return { error: syntaxError(params[0], 'unknown monitor session') };
  const { served, monitor } = open;
  assert(served.content !== null, 'changeMonitor: a monitor of nothing');
  const taken = (id: Json): boolean => session.monitors.has(idKey(id));
  const changed = served.content.monitors.change(monitor, params, taken);
  if (isError(changed)) return { error: changed };
  session.monitors.delete(key);
  session.monitors.set(idKey(monitor.id), open);
  if (changed.update !== null) hub.send(session, changed.update);
  else if (monitor.overflowed) hub.drop(session, 'an update is too large');
  return { result: {} };
}

export function cancelMonitor(session: Session, { params }: Request): Reply {
  if (params.length !== 1) return { error: 'invalid parameters' };
  const key = idKey(params[0]);
  const open = session.monitors.get(key);
  if (open === undefined) return { error: 'unknown monitor' };
  close(open);
  session.monitors.delete(key);
  return { result: {} };
}

/** The session is gone. */
export function closeMonitors(session: Session): void {
  for (const open of session.monitors.values()) close(open);
  session.monitors.clear();
}

function close({ served, monitor }: OpenMonitor): void {
  assert(served.content !== null, 'close: a monitor of nothing');
  served.content.monitors.close(monitor);
}

/** The database goes away, or another one takes its place: sessions that can be told are told. */
export function closeMonitorsOf(served: ServedDatabase, hub: Hub): void {
  for (const session of hub.sessions()) {
    for (const [key, open] of [...session.monitors]) {
      if (open.served !== served || session.closed) continue;
      if (session.changeAware) {
        hub.send(session, notificationText('monitor_canceled', [open.monitor.id]));
        if (session.closed) break;
      }
      close(open);
      session.monitors.delete(key);
    }
  }
}

/** What the session's monitors have to tell: texts, or `null` when one is too long to be told. */
export function flushMonitors(session: Session): string[] | null {
  const texts: string[] = [];
  for (const { served, monitor } of session.monitors.values()) {
    const text = served.content?.monitors.flush(monitor) ?? null;
    if (text !== null) texts.push(text);
    else if (monitor.overflowed) return null;
  }
  return texts;
}
