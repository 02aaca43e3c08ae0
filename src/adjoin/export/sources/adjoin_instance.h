/*
 * adjoin_instance.h: one instance of a model in an FMU, the same for FMI 2 and 3.
 *
 * Values are numbered: inputs, outputs, the value of the output before the first sample, time.
 * At a communication point the outputs are those of that sample, and follow the inputs as they are
 * set; a step takes the sample in and goes to the next one.
 */
#ifndef ADJOIN_INSTANCE_H
#define ADJOIN_INSTANCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adjoin_wiring.h"

enum {
    FIRST_OUTPUT = N_INPUTS,
    START_VALUE = N_INPUTS + N_OUTPUTS,
    TIME = START_VALUE + 1,
    N_VALUES = TIME + 1
};

/* All that changes: a saved state of the FMU is a copy of it. */
typedef struct {
    adjoin_state now;  /* before the present sample is taken in */
    adjoin_state next; /* after it, if outputs are fresh */
    double value[N_VALUES];
    double start_time;
    unsigned long n_steps;
    int is_fresh;
    int is_started;
} instance_data;

static void begin(instance_data *data)
{
    adjoin_start(&data->now, data->value[START_VALUE]);
    data->value[TIME] = data->start_time;
    data->n_steps = 0ul;
    data->is_fresh = 0;
}

static void reset(instance_data *data)
{
    int i;
    memset(data, 0, sizeof *data);
    for (i = 0; i < N_INPUTS; i++)
        data->value[i] = start_value[i];
    data->value[START_VALUE] = start_value[N_INPUTS];
    begin(data);
}

static void refresh(instance_data *data)
{
    if (data->is_fresh)
        return;
    data->next = data->now;
    adjoin_step(&data->next, data->value, data->value + FIRST_OUTPUT);
    data->is_fresh = 1;
}

/* Whether there is a value of that number; it is then up to date. */
static int get_value(instance_data *data, unsigned number, double *value)
{
    if (number >= (unsigned)N_VALUES)
        return 0;
    if (number >= (unsigned)FIRST_OUTPUT && number < (unsigned)START_VALUE)
        refresh(data);
    *value = data->value[number];
    return 1;
}

/* Whether the value of that number may be set now. */
static int set_value(instance_data *data, unsigned number, double value)
{
    const int is_input = number < (unsigned)N_INPUTS;
    if (!is_input && (number != (unsigned)START_VALUE || data->is_started))
        return 0;
    data->value[number] = value;
    data->is_fresh = 0;
    if (!is_input)
        begin(data);
    return 1;
}

/* Take so many seconds, which must be whole samples; whether they are. */
static int advance(instance_data *data, double seconds)
{
    const double n = floor(seconds / SAMPLING_TIME + 0.5);
    double k;
    if (!(n >= 1.0) || !(fabs(seconds - n * SAMPLING_TIME) <= 1e-6 * SAMPLING_TIME))
        return 0;
    for (k = 0.0; k < n; k++) {
        refresh(data);
        data->now = data->next;
        data->is_fresh = 0;
        data->n_steps++;
    }
    data->value[TIME] = data->start_time + (double)data->n_steps * SAMPLING_TIME;
    return 1;
}

#endif
