/** The entry of ovsdb-tool. */
export { main } from './tool/main.ts';
