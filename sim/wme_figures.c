/* Reports on what is counted: Table 1, and the run of a million operations. */
#include "json.h"
#include "wme_report.h"

typedef unsigned long long number;

/* ---- Table 1 ---- */

void report_counts(const row *rows, uint32_t count, FILE *out)
{
    fprintf(out, "%-22s %5s  %-13s %-13s %-13s %-13s %-13s %s\n", "messages / steps", "", "enter,",
            "enter,", "exit,", "exit,", "operation,", "operation,");
    fprintf(out, "%-22s %5s  %-13s %-13s %-13s %-13s %-13s %s\n", "", "nodes", "elsewhere",
            "token here", "nobody waits", "handed over", "for issuer", "everywhere");
    for (uint32_t i = 0; i < count; i++) {
        const costs *c = &rows[i].costs;
        const cost *const all[] = {&c->enter_elsewhere, &c->enter_here, &c->exit_alone,
                                   &c->exit_handing, &c->operation};
        fprintf(out, "%-22s %5u  ", rows[i].name, rows[i].nodes);
        for (int k = 0; k < 5; k++) {
            char cell[24];
            snprintf(cell, sizeof cell, "%llu / %u", (number)all[k]->messages, all[k]->steps);
            fprintf(out, "%-13s ", cell);
        }
        fprintf(out, "%llu / %u\n", (number)c->operation.messages, c->operation.steps_all);
    }
}

static void cost_json(json *j, const char *name, const cost *c)
{
    json_open(j, name, '{');
    json_integer(j, "messages", c->messages);
    json_integer(j, "steps", c->steps);
    json_integer(j, "steps_all", c->steps_all);
    json_close(j, '}');
}

void report_counts_json(const row *rows, uint32_t count, FILE *out)
{
    json j = json_start(out);
    json_open(&j, NULL, '[');
    for (uint32_t i = 0; i < count; i++) {
        json_open(&j, NULL, '{');
        json_string(&j, "name", rows[i].name);
        json_integer(&j, "nodes", rows[i].nodes);
        cost_json(&j, "enter_elsewhere", &rows[i].costs.enter_elsewhere);
        cost_json(&j, "enter_here", &rows[i].costs.enter_here);
        cost_json(&j, "exit_alone", &rows[i].costs.exit_alone);
        cost_json(&j, "exit_handing", &rows[i].costs.exit_handing);
        cost_json(&j, "operation", &rows[i].costs.operation);
        json_close(&j, '}');
    }
    json_close(&j, ']');
}

/* ---- a million operations ---- */

static void footprint_text(const char *when, const footprint *f, FILE *out)
{
    fprintf(out,
            "  %-7s %8llu operations: longest log %llu entries, %llu operations kept, heap %llu "
            "bytes\n",
            when, (number)f->operations, (number)f->log, (number)f->kept, (number)f->heap);
}

void report_million(const million *m, FILE *out)
{
    fprintf(out, "a stub has %zu bytes, a replica %zu; epoch %llu, %.1f s\n", m->stub, m->replica,
            (number)m->epoch, m->seconds);
    footprint_text("after", &m->before, out);
    footprint_text("after", &m->after, out);
    fprintf(out, "%s\n", m->flat ? "flat" : "NOT FLAT");
}

static void footprint_json(json *j, const char *when, const footprint *f)
{
    json_open(j, when, '{');
    json_integer(j, "operations", f->operations);
    json_integer(j, "log_entries", f->log);
    json_integer(j, "operations_kept", f->kept);
    json_integer(j, "heap_bytes", f->heap);
    json_close(j, '}');
}

void report_million_json(const million *m, FILE *out)
{
    json j = json_start(out);
    json_open(&j, NULL, '{');
    json_integer(&j, "stub_bytes", m->stub);
    json_integer(&j, "replica_bytes", m->replica);
    json_integer(&j, "epoch", m->epoch);
    footprint_json(&j, "before", &m->before);
    footprint_json(&j, "after", &m->after);
    json_bool(&j, "flat", m->flat);
    json_real(&j, "seconds", m->seconds);
    json_close(&j, '}');
}
