/** Releases, as clients and servers call them: what a server says of itself, whom it serves. */

/** What this program calls itself towards clients: 0.17.9. */
export const RELEASE = 0x1109;
/** Oldest client that is served: 0.17.0. */
export const RELEASE_CLIENT_MIN = 0x1100;
