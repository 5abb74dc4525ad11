/**
 * recording: what a running engine was told, kept in a file, and the same steps made again from it.
 * Reading order: `format`, `marks` (what is kept of answers), `recorder`, `record-file`, `replay`,
 * `open-engine`.
 */
export { RecordingError, type RecordingErrorCode } from './errors.ts';
export { type LifeRecord, RECORDING_SIZE_MAX } from './format.ts';
export type { Mark } from './marks.ts';
export type { RecordingEnd } from './record-file.ts';
export { Recorder, type RecorderOptions } from './recorder.ts';
export {
  type Difference,
  type ReplayOptions,
  type ReplayReport,
  type ReplayStep,
  replayRecording,
} from './replay.ts';
