/* What the store has when a run is resumed: settled before anything is looked up, in no rate, and
 * told to the run state. */
#include "tests/unit/coordinator/queue/rig.h"

/* Half of the rows are answered. */
static void some_stored(struct rig *r)
{
    rig_end(r);
    rig_init(r, 8, 1, 1);
    r->store.swap = VQ_SWAP_NONE;
    for (uint64_t task = 0; task < 8; task += 2) {
        rig_tried(r, task, "Model: A");
    }
    r->hold_lookups = true;
}

static void take_over(struct rig *r)
{
    for (uint64_t shard = 0; shard < vq_grid_shards(&r->params.grid); shard++) {
        struct vq_task_view view;
        uint8_t outcomes[2];
        for (uint64_t i = 0; i < 2; i++) {
            sim_store_state(&r->store, 2 * shard + i, &view);
            outcomes[i] = (uint8_t)view.outcome;
        }
        assert_int_equal(vq_coord_stored(r->c, shard, outcomes), VQ_OK);
    }
}

static void begin(struct rig *r)
{
    struct vq_error err = {""};
    some_stored(r);
    rig_authority(r);
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    take_over(r);
}

TEST_WITH(progress_is_there_at_once_and_no_rate_counts_it, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r);
    struct vq_coord_status s = rig_status(r);
    assert_int_equal(s.all.state[VQ_TASK_ANSWERED], 4);
    assert_int_equal(s.all.state[VQ_TASK_OPEN], 4);
    assert_int_equal(s.all.from_store, 4);
    assert_int_equal(s.known_shards, s.shards);
    assert_int_equal(s.settled_lately, 0);
    assert_true(s.settled_per_s == 0 && s.calls_per_s == 0);
    rig_pass(r, 5000);
    assert_true(rig_status(r).settled_per_s == 0);
}

TEST_WITH(the_run_state_hears_of_it_and_only_the_rest_is_asked, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r);
    r->hold_lookups = false;
    rig_pull(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    for (uint64_t task = 0; task < 8; task++) {
        assert_int_equal(r->store.column[task],
                         task % 2 == 0 ? VQ_OUTCOME_FIRST : VQ_OUTCOME_NOT_NEEDED);
    }
    for (unsigned n = 0; n < 4; n++) {
        struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
        assert_true(lease.tasks[0] >= 8);
        rig_say_answer(r, 7, session, &lease, lease.tasks[0], "Model: B");
    }
}

TEST_WITH(a_run_of_which_all_is_stored_finishes, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    some_stored(r);
    for (uint64_t task = 8; task < 16; task += 2) {
        rig_tried(r, task, "Model: A");
    }
    struct vq_error err = {""};
    rig_authority(r);
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    take_over(r);
    rig_pull(r);
    assert_int_equal(r->lookups_asked, 0);
    assert_int_equal(r->finished, 1);
    assert_int_equal(r->store.column[14], VQ_OUTCOME_FIRST);
}
