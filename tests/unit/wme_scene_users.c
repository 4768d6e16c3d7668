/* What the users of a scene do. */
#include "wme_scene.h"

#include <string.h>

scene_user *scene_user_at(scene *w, uint8_t node, uint8_t user)
{
    assert_true(user < SCENE_USERS);
    return &w->node[node].user[user];
}

const char *scene_told(scene *w, uint8_t node, uint8_t user)
{
    return scene_user_at(w, node, user)->told;
}

wme_refusal scene_try(scene *w, uint8_t node, uint8_t user)
{
    scene_node *n = &w->node[node];
    wme_refusal r = replica_try(&n->replica, &n->wme, &scene_user_at(w, node, user)->wme, &w->out);
    scene_finish(w, node);
    return r;
}

wme_refusal scene_resume(scene *w, uint8_t node, uint8_t user, uint64_t token)
{
    scene_node *n = &w->node[node];
    wme_user *who = &scene_user_at(w, node, user)->wme;
    wme_refusal r = replica_resume(&n->replica, &n->wme, who, token, &w->out);
    scene_finish(w, node);
    return r;
}

wme_refusal scene_issue(scene *w, uint8_t node, uint8_t user)
{
    scene_node *n = &w->node[node];
    wme_op *op = scene_op(w, ++w->next_key);
    wme_refusal r =
        replica_issue(&n->replica, &n->wme, &scene_user_at(w, node, user)->wme, op, &w->out);
    wme_op_drop(op);
    scene_finish(w, node);
    return r;
}

wme_refusal scene_exit(scene *w, uint8_t node, uint8_t user)
{
    scene_node *n = &w->node[node];
    wme_refusal r = replica_exit(&n->replica, &n->wme, &scene_user_at(w, node, user)->wme, &w->out);
    scene_finish(w, node);
    return r;
}

bool scene_yield(scene *w, uint8_t node, uint8_t to)
{
    scene_node *n = &w->node[node];
    bool given = replica_yield(&n->replica, &n->wme, to, &w->out);
    scene_finish(w, node);
    return given;
}

void scene_leave(scene *w, uint8_t node, uint8_t user)
{
    scene_node *n = &w->node[node];
    scene_user *u = scene_user_at(w, node, user);
    replica_leave(&n->replica, &n->wme, &u->wme, &w->out);
    memset(u, 0xee, sizeof *u); /* as if freed */
    scene_finish(w, node);
    memset(u, 0, sizeof *u);
}

void scene_revoke(scene *w, uint8_t node, uint8_t user)
{
    scene_node *n = &w->node[node];
    scene_user *u = scene_user_at(w, node, user);
    replica_revoke(&n->replica, &n->wme, &u->wme, &w->out);
    memset(u, 0xee, sizeof *u); /* as if freed */
    scene_finish(w, node);
    memset(u, 0, sizeof *u);
}
