/** Each planted bug is found, and what finds it is silent without the bug. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as plants from './plants-test-helper.ts';
import * as stories from './stories-test-helper.ts';

interface Case {
  readonly plant: plants.Plant;
  readonly story: stories.Story;
  /** What is found. */
  readonly found: RegExp;
}

const cases: { readonly [name: string]: Case } = {
  '1: the log view moves at the end of repair': {
    plant: plants.movesLogViewLate,
    story: stories.chosenAndNotFinished,
    found: /SuperblockStore: inconsistent/,
  },
  '2: a log is cut at a gap left of what is known': {
    plant: plants.cutsAtGaps,
    story: stories.gapAtTheNextPrimary,
    found: /^lost-operation/,
  },
  '5: headers that a primary told are lost in the next vote': {
    plant: plants.forgetsToldHeaders,
    story: stories.toldBeyondItsRoom,
    found: /^lost-operation/,
  },
  '6: presence is inferred from the absence of a denial': {
    plant: plants.infersPresence,
    story: stories.lostByAll,
    found: /it never came to that/,
  },
  '8: a header of an older view does not deny': {
    plant: plants.countsNoStaleHeaders,
    story: stories.staleHeaderDenies,
    found: /it never came to that/,
  },
  '9: too few denials': {
    plant: plants.mistakesNackQuorum,
    story: stories.committedByTwoOfFour,
    found: /^lost-operation/,
  },
  '9: too many denials of two': {
    plant: plants.mistakesNackQuorum,
    story: stories.lostByOneOfTwo,
    found: /it never came to that/,
  },
  '10: acknowledgements of an older view count': {
    plant: plants.keepsAcknowledgements,
    story: stories.acknowledgedLongAgo,
    found: /^not-durable/,
  },
  '11: speaks for a log before its view is durable': {
    plant: plants.speaksBeforeLogViewIsDurable,
    story: stories.primaryDies,
    found: /^view/,
  },
  '11: speaks in a view before it is durable': {
    plant: plants.speaksBeforeViewIsDurable,
    story: stories.twoPrimariesDie,
    found: /^view/,
  },
  '12: damage is forgotten when the header comes back': {
    plant: plants.forgetsDamage,
    story: stories.committedAndLostByOne,
    found: /^divergence: digest/,
  },
  '14: what was cut off is back after a restart': {
    plant: plants.revivesWhatWasCut,
    story: stories.cutAndRestarted,
    found: /two logs of one view/,
  },
  '16: a slot is written twice at once': {
    plant: plants.writesSlotsTwiceAtOnce,
    story: stories.writtenTwiceAtOnce,
    found: /is not on the disk/,
  },
  '19: acknowledgements do not wait for checkpoints': {
    plant: plants.acknowledgesBeyondCheckpoints,
    story: stories.checkpointHeldUp,
    found: /commitMax is/,
  },
  'a copied checkpoint is named before it is durable': {
    plant: plants.namesCopyBeforeFlush,
    story: stories.cutAfterCopy,
    found: /^engine-halt: .* storage-corrupt/,
  },
  '30: a primary begins with commits in flight': {
    plant: plants.beginsWithCommitsInFlight,
    story: stories.stalledAtCheckpoint,
    found: /not everything is executed/,
  },
  'a primary that restarts resumes its view': {
    plant: plants.resumesItsView,
    story: stories.backBeforeItIsMissed,
    found: /^view/,
  },
};

for (const [name, { plant, story, found }] of Object.entries(cases)) {
  test(name, () => {
    story(null);
    assert.throws(
      () => story(plant),
      (error: Error) => {
        assert.match(error.message, found);
        return true;
      },
    );
  });
}
