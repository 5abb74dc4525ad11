/**
 * raft/file: the data file of a Raft replica. Reading order: `layout`, `head-codec` and `frame`
 * (what lies where), `stream-source` and `stream-reader` (records and bytes), `chain` and `extents`
 * (where the next frame goes), `reading` (what a file says, and whether it may be believed),
 * `raft-file` (writing, while Raft runs), `replacement` (a new generation), `format`.
 */
export type { FileSink } from './disk-work.ts';
export { formatRaftFile, type RaftFormatOptions, type RaftFormatWrite } from './format.ts';
export {
  RAFT_FORMAT_VERSION,
  type RaftHead,
  type RaftHeadError,
  type RaftHeadRead,
  readRaftHead,
} from './head-codec.ts';
export {
  APPEND_FRAMES_MAX,
  extentOffset,
  RAFT_FILE_REPLY_SLOTS,
  RAFT_FILE_SMALL_SLOTS,
  RAFT_GEOMETRY_DEFAULT,
  RAFT_GEOMETRY_DEVELOPMENT,
  RAFT_HEAD_COPIES,
  RAFT_HEAD_COPY_SIZE,
  RAFT_HEAD_SIZE,
  type RaftGeometry,
  raftGeometryProblem,
} from './layout.ts';
export { type FileHandler, RaftFile, type RaftFileOptions } from './raft-file.ts';
export { type RaftFileState, readRaftState } from './state.ts';
